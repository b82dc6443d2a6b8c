//! A set of HTTP status codes, written as people write them: `502-504,520-523,5xx`.

use std::fmt;

const FIRST: u16 = 100;
const LAST: u16 = 999;
const WORDS: usize = ((LAST - FIRST) / 64 + 1) as usize;

/// Status codes from 100 to 999, as a bit for each.
///
/// ```
/// use anyhost::StatusSet;
///
/// let set: StatusSet = "502-504, 5xx, 429".parse()?;
/// assert!(set.contains(429) && set.contains(500) && !set.contains(404));
/// # Ok::<(), anyhost::InvalidStatusSet>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct StatusSet([u64; WORDS]);

impl StatusSet {
    /// No status at all: `off`.
    pub const EMPTY: StatusSet = StatusSet([0; WORDS]);

    /// The set of these inclusive ranges. Codes outside 100-999 are left out.
    ///
    /// ```
    /// use anyhost::StatusSet;
    ///
    /// const GATEWAY: StatusSet = StatusSet::of(&[(502, 504), (429, 429)]);
    /// assert_eq!(GATEWAY.to_string(), "429,502-504");
    /// ```
    pub const fn of(ranges: &[(u16, u16)]) -> Self {
        let mut set = StatusSet::EMPTY;
        let mut i = 0;
        while i < ranges.len() {
            let (mut status, last) = ranges[i];
            while status <= last && status <= LAST {
                if status >= FIRST {
                    let bit = (status - FIRST) as usize;
                    set.0[bit / 64] |= 1 << (bit % 64);
                }
                status += 1;
            }
            i += 1;
        }
        set
    }

    /// Whether `status` is one of them; outside 100 to 999 none is.
    pub const fn contains(&self, status: u16) -> bool {
        if status < FIRST || status > LAST {
            return false;
        }
        let bit = (status - FIRST) as usize;
        self.0[bit / 64] & (1 << (bit % 64)) != 0
    }

    fn ranges(&self) -> Vec<(u16, u16)> {
        let mut ranges: Vec<(u16, u16)> = Vec::new();
        for status in (FIRST..=LAST).filter(|status| self.contains(*status)) {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == status => *last = status,
                _ => ranges.push((status, status)),
            }
        }
        ranges
    }
}

/// The text form, which parses to the same set: `502-504,520-523`, or `off`.
impl fmt::Display for StatusSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranges = self.ranges();
        if ranges.is_empty() {
            return f.write_str("off");
        }
        for (i, (first, last)) in ranges.into_iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            match (first, last) {
                (a, b) if a == b => write!(f, "{comma}{a}")?,
                (a, b) if a % 100 == 0 && b == a + 99 => write!(f, "{comma}{}xx", a / 100)?,
                (a, b) => write!(f, "{comma}{a}-{b}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for StatusSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StatusSet({self})")
    }
}

/// A text that is no set of status codes. It holds the part that is wrong.
///
/// ```
/// let error = "5xx,6zz".parse::<anyhost::StatusSet>().unwrap_err();
/// assert_eq!(error.0, "6zz");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidStatusSet(pub String);

impl fmt::Display for InvalidStatusSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no status: write codes from 100 to 999, ranges such as 502-504, or 5xx",
            self.0
        )
    }
}

impl std::error::Error for InvalidStatusSet {}

impl std::str::FromStr for StatusSet {
    type Err = InvalidStatusSet;

    fn from_str(text: &str) -> Result<Self, InvalidStatusSet> {
        if text.trim() == "off" {
            return Ok(StatusSet::EMPTY);
        }
        let ranges: Vec<_> =
            text.split(',').map(|item| range(item.trim())).collect::<Result<_, _>>()?;
        Ok(StatusSet::of(&ranges))
    }
}

fn range(item: &str) -> Result<(u16, u16), InvalidStatusSet> {
    let code = |text: &str| match text.parse() {
        Ok(status @ FIRST..=LAST) if text.len() == 3 => Some(status),
        _ => None,
    };
    let range = match (item.strip_suffix("xx"), item.split_once('-')) {
        (Some(hundreds), _) => code(&format!("{hundreds}00")).map(|first| (first, first + 99)),
        (None, Some((first, last))) => code(first.trim()).zip(code(last.trim())),
        (None, None) => code(item).map(|status| (status, status)),
    };
    range.filter(|(first, last)| first <= last).ok_or_else(|| InvalidStatusSet(item.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_written_and_nothing_beside_it() {
        let set: StatusSet = "502-504, 520-523,525,526".parse().unwrap();
        let held: Vec<u16> = (0..1100).filter(|status| set.contains(*status)).collect();
        assert_eq!(held, [502, 503, 504, 520, 521, 522, 523, 525, 526]);
    }

    #[test]
    fn a_set_prints_as_it_parses() {
        for text in ["502-504,520-523,525-526", "429,5xx", "100", "999", "off"] {
            assert_eq!(text.parse::<StatusSet>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_status_is_named() {
        for (text, part) in [
            ("", ""),
            ("5x", "5x"),
            ("99", "99"),
            ("1000", "1000"),
            ("500,,502", ""),
            ("504-502", "504-502"),
            ("+50", "+50"),
            ("xx", "xx"),
        ] {
            assert_eq!(text.parse::<StatusSet>(), Err(InvalidStatusSet(part.to_owned())), "{text}");
        }
    }
}
