//! Reads the three forms of an HTTP date (RFC 9110, section 5.6.7) as seconds since 1970.
//!
//! Written here, in a page, because a date is needed for one header and the rules of this crate
//! differ from what the date crates do: `:60` is a leap second and not an error, the year of two
//! digits has the RFC's sliding century, and the weekday is read but not compared with the date, since
//! a wrong one leaves no doubt about the instant.
//!
//! Strict otherwise: names are case-sensitive, the zone is `GMT`, digits have their fixed places.
//!
//! Not here: what the date is compared with (`retry_after`).

/// The seconds since 1970-01-01 00:00:00 GMT that `text` names, or `None` if it is not an HTTP date.
/// `now`, in the same unit, settles the century of an RFC 850 date.
pub(super) fn seconds(text: &str, now: i64) -> Option<i64> {
    if !text.is_ascii() {
        return None;
    }
    imf_fixdate(text).or_else(|| rfc850_date(text, now)).or_else(|| asctime_date(text))
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`
fn imf_fixdate(text: &str) -> Option<i64> {
    let (weekday, rest) = text.split_once(", ")?;
    let [day, month, year, time, "GMT"] = fields(rest)? else { return None };
    known(weekday, &SHORT_DAYS)?;
    instant(number(year, 4)?, month, number(day, 2)?, time)
}

/// `Sunday, 06-Nov-94 08:49:37 GMT`. A date more than 50 years ahead is one of the past century.
fn rfc850_date(text: &str, now: i64) -> Option<i64> {
    let (weekday, rest) = text.split_once(", ")?;
    let [date, time, "GMT"] = fields(rest)? else { return None };
    known(weekday, &LONG_DAYS)?;
    let mut parts = date.split('-');
    let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let (day, two_digits) = (number(day, 2)?, number(year, 2)?);

    let (this_year, this_month, this_day) = civil(now.div_euclid(DAY));
    let latest = days(this_year + 50, this_month, this_day) * DAY + now.rem_euclid(DAY);
    // The latest year with these two digits that may lie ahead no more than 50 years. It may lack the
    // 29 February that the year a century before it has.
    let year = this_year + 50 - (this_year + 50 - two_digits).rem_euclid(100);
    match instant(year, month, day, time) {
        Some(seconds) if seconds <= latest => Some(seconds),
        _ => instant(year - 100, month, day, time),
    }
}

/// `Sun Nov  6 08:49:37 1994`: no zone, and a day below 10 has a blank in front.
fn asctime_date(text: &str) -> Option<i64> {
    let (weekday, rest) = text.split_once(' ')?;
    known(weekday, &SHORT_DAYS)?;
    let (month, rest) = rest.split_once(' ')?;
    let (day, rest) = rest.split_at_checked(2)?;
    let ["", time, year] = fields(rest)? else { return None };
    let day = match day.strip_prefix(' ') {
        Some(digit) => number(digit, 1)?,
        None => number(day, 2)?,
    };
    instant(number(year, 4)?, month, day, time)
}

/// The instant of a date and a time `08:49:37`, or `None` where there is no such date or time.
fn instant(year: i64, month: &str, day: i64, time: &str) -> Option<i64> {
    let month = known(month, &MONTHS)? + 1;
    let mut parts = time.split(':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next()?);
    let (hour, minute, second) = (number(hour, 2)?, number(minute, 2)?, number(second, 2)?);
    // A leap second counts as the first of the next minute, as time since 1970 has none.
    let valid = parts.next().is_none()
        && (1..=days_of(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    valid.then(|| days(year, month, day) * DAY + hour * 3600 + minute * 60 + second)
}

/// Exactly N fields with one blank between each two.
fn fields<const N: usize>(text: &str) -> Option<[&str; N]> {
    text.split(' ').collect::<Vec<_>>().try_into().ok()
}

/// The place of `name` in `names`.
fn known(name: &str, names: &[&str]) -> Option<i64> {
    names.iter().position(|known| *known == name).map(|place| place as i64)
}

/// A number of exactly `width` digits.
fn number(text: &str, width: usize) -> Option<i64> {
    let digits = text.len() == width && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

fn days_of(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date of the Gregorian calendar. Years begin in March, so that the leap
/// day is the last of its year and the lengths of the months before it follow one formula.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (month * 153 + 2) / 5 + (day - 1) - MARCH_0000_TO_1970
}

/// The date (year, month, day) that many days after 1970-01-01.
fn civil(since_1970: i64) -> (i64, i64, i64) {
    // The mean year puts the guess within a year of the truth, on either side.
    let mut year = 1970 + (since_1970 * 400).div_euclid(146_097) - 1;
    while days(year + 1, 1, 1) <= since_1970 {
        year += 1;
    }
    let mut left = since_1970 - days(year, 1, 1);
    let mut month = 1;
    while left >= days_of(year, month) {
        left -= days_of(year, month);
        month += 1;
    }
    (year, month, left + 1)
}

const DAY: i64 = 24 * 60 * 60;

/// Days from 0000-03-01 to 1970-01-01.
const MARCH_0000_TO_1970: i64 = 719_468;

const SHORT_DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

const LONG_DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

#[cfg(test)]
mod tests {
    use super::{civil, days, days_of};

    /// Counts the days one by one, which needs none of the formulas.
    #[test]
    fn days_and_civil_agree_with_counting() {
        let mut count = days(1599, 1, 1);
        assert_eq!((days(1970, 1, 1), days(2000, 3, 1)), (0, 11_017));
        for year in 1599..2402 {
            for month in 1..=12 {
                for day in 1..=days_of(year, month) {
                    assert_eq!(days(year, month, day), count, "{year}-{month}-{day}");
                    assert_eq!(civil(count), (year, month, day), "day {count}");
                    count += 1;
                }
            }
        }
    }
}
