//! How durations, limits, sizes and flags are written as the text of an option.
//!
//! Options are text keyed by name, the same for C, config files, scripts and the Rust builder, so
//! what the text means is settled once, here. The grammar is small on purpose: one whole number and
//! one unit, lower case. Fractions, signs and sums (`1.5s`, `+5s`, `1m30s`) are refused instead of
//! guessed at, and so is what does not fit.
//!
//! What [`DurationText`], [`LimitText`] and [`SizeText`] write reads back as the same value. For
//! that, and because Rust callers may set durations finer than a millisecond, `us` and `ns` are read
//! too.
//!
//! Not here: which options there are and what their values may be (`settings`), and the policies of
//! `attempt_timeout`, which are built of these (`timeout`).
//!
//! Flow: before any call, while a client or a request is being built.

use std::fmt;
use std::time::Duration;

/// A value that was refused: what was given, and the rule it breaks.
///
/// Displays as `"0s": a limit is more than 0; …`, fit to follow the name of the option.
///
/// ```
/// let error = "soon".parse::<anyhost::Timeout>().unwrap_err();
/// assert_eq!((error.value(), error.rule().split(',').next()), ("soon", Some(
///     "a duration is a whole number with a unit"
/// )));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidValue {
    value: String,
    rule: &'static str,
}

impl InvalidValue {
    /// Of this value, by this rule. A long value is cut.
    pub(crate) fn new(value: impl Into<String>, rule: &'static str) -> Self {
        let mut value = value.into();
        if let Some((cut, _)) = value.char_indices().nth(VALUE_SHOWN) {
            value.truncate(cut);
            value.push('…');
        }
        InvalidValue { value, rule }
    }

    /// What was given, cut after 64 characters.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// The rule it breaks, as a sentence without its subject and full stop.
    pub fn rule(&self) -> &'static str {
        self.rule
    }
}

impl fmt::Display for InvalidValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.value, self.rule)
    }
}

impl std::error::Error for InvalidValue {}

/// Reads a duration: `250ms`, `5s`, `5m`, `1h`, or a bare number of milliseconds.
///
/// 0 is read; whether an option takes it is that option's business. Blanks around are ignored.
///
/// # Errors
///
/// What is no whole number with one of the units, or is longer than a [`Duration`] can hold.
///
/// # Examples
///
/// ```
/// use anyhost::decide::parse_duration;
/// use std::time::Duration;
///
/// assert_eq!(parse_duration("5m")?, Duration::from_secs(300));
/// assert_eq!(parse_duration("1500")?, Duration::from_millis(1500));
/// assert!(parse_duration("1.5s").is_err());
/// # Ok::<(), anyhost::decide::InvalidValue>(())
/// ```
pub fn parse_duration(text: &str) -> Result<Duration, InvalidValue> {
    let text = text.trim();
    let refuse = |rule| InvalidValue::new(text, rule);
    let (number, unit) = number_and_unit(text);
    if number.is_empty() {
        return Err(refuse("a duration is a whole number with a unit, as 250ms, 5s, 5m or 1h"));
    }
    let unit = if unit.is_empty() { "ms" } else { unit };
    let Some((_, nanos)) = TIME_UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(refuse("a duration is a whole number of ms, s, m or h; without a unit, of ms"));
    };
    number
        .parse::<u128>()
        .ok()
        .and_then(|number| number.checked_mul(*nanos))
        .and_then(duration_of_nanos)
        .ok_or_else(|| refuse("a duration this long cannot be kept; write off for no limit"))
}

/// Reads a limit: a duration above 0, or `off` for none.
///
/// # Errors
///
/// As [`parse_duration`], and 0: nothing can be done in no time, and taking 0 for "none" would turn
/// the strictest limit into the loosest (ruling R9).
pub fn parse_limit(text: &str) -> Result<Option<Duration>, InvalidValue> {
    if text.trim() == "off" {
        return Ok(None);
    }
    let limit = parse_duration(text)?;
    if limit.is_zero() { Err(InvalidValue::new(text.trim(), NO_ZERO)) } else { Ok(Some(limit)) }
}

/// Reads a size in bytes: `64k` (1 k = 1,024), `16m` (1 m = 1,048,576), or a bare number of bytes.
///
/// # Errors
///
/// What is no whole number with one of the units, or is above 2^64 - 1 bytes.
pub fn parse_size(text: &str) -> Result<u64, InvalidValue> {
    let text = text.trim();
    let refuse = |rule| InvalidValue::new(text, rule);
    let (number, unit) = number_and_unit(text);
    if number.is_empty() {
        return Err(refuse("a size is a whole number of bytes, or of k or m, as 64k or 16m"));
    }
    let Some((_, bytes)) = SIZE_UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(refuse("a size is a whole number of k or m; without a unit, of bytes"));
    };
    number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(*bytes))
        .ok_or_else(|| refuse("a size this large cannot be counted"))
}

/// Reads a flag: `on`, `true` or `1`; `off`, `false` or `0`.
///
/// # Errors
///
/// Anything else.
pub fn parse_flag(text: &str) -> Result<bool, InvalidValue> {
    match text.trim() {
        "on" | "true" | "1" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        other => Err(InvalidValue::new(other, "a flag is on or off, true or false, 1 or 0")),
    }
}

/// Writes a duration in the largest unit that needs no fraction: 90 s is `90s`, 60 s is `1m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DurationText(pub Duration);

impl fmt::Display for DurationText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        if nanos == 0 {
            return f.write_str("0ms");
        }
        let (unit, size) = TIME_UNITS
            .iter()
            .find(|(_, size)| nanos % size == 0)
            .expect("one nanosecond divides every duration");
        write!(f, "{}{unit}", nanos / size)
    }
}

/// Writes a limit: the duration, or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitText(pub Option<Duration>);

impl fmt::Display for LimitText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(limit) => DurationText(limit).fmt(f),
            None => f.write_str("off"),
        }
    }
}

/// Writes a size in the largest unit that needs no fraction: 65,536 bytes are `64k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeText(pub u64);

impl fmt::Display for SizeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0");
        }
        let (unit, size) = SIZE_UNITS
            .iter()
            .find(|(_, size)| self.0 % size == 0)
            .expect("one byte divides every size");
        write!(f, "{}{unit}", self.0 / size)
    }
}

/// The leading digits, and what follows them.
fn number_and_unit(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

fn duration_of_nanos(nanos: u128) -> Option<Duration> {
    let seconds = u64::try_from(nanos / SECOND).ok()?;
    let rest = u32::try_from(nanos % SECOND).ok()?;
    Some(Duration::new(seconds, rest))
}

/// Why 0 is no limit.
pub(crate) const NO_ZERO: &str = "a limit is more than 0; for no limit at all say off";

/// So much of a refused value is repeated in the error: enough to recognise it.
const VALUE_SHOWN: usize = 64;

/// Nanoseconds of a second.
const SECOND: u128 = 1_000_000_000;

/// Units of time and their nanoseconds, the largest first.
const TIME_UNITS: [(&str, u128); 6] = [
    ("h", 3600 * SECOND),
    ("m", 60 * SECOND),
    ("s", SECOND),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Units of size and their bytes, the largest first.
const SIZE_UNITS: [(&str, u64); 3] = [("m", 1 << 20), ("k", 1 << 10), ("", 1)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_the_contract_says() {
        for (text, nanos) in [
            ("250ms", 250_000_000),
            ("5s", 5 * SECOND),
            ("5m", 300 * SECOND),
            ("1h", 3600 * SECOND),
            ("1500", 1_500_000_000),
            (" 007 ", 7_000_000),
            ("0", 0),
            ("3us", 3_000),
        ] {
            let read = parse_duration(text).map(|duration| duration.as_nanos());
            assert_eq!(read, Ok(nanos), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_with_value_and_rule() {
        let number = "a duration is a whole number with a unit, as 250ms, 5s, 5m or 1h";
        let unit = "a duration is a whole number of ms, s, m or h; without a unit, of ms";
        let long = "a duration this long cannot be kept; write off for no limit";
        for (text, rule) in [
            ("", number),
            ("s", number),
            ("off", number),
            ("-1", number),
            ("+5s", number),
            ("٥s", number),
            ("1.5s", unit),
            ("1m30s", unit),
            ("5 s", unit),
            ("5S", unit),
            ("1d", unit),
            ("18446744073709551616s", long),
            ("5124095576030432h", long),
            // 2^127 ms, whose nanoseconds are 0 modulo 2^128.
            ("170141183460469231731687303715884105728", long),
            ("340282366920938463463374607431768211456", long),
        ] {
            let error = parse_duration(text).expect_err(text);
            assert_eq!((error.value(), error.rule()), (text, rule));
        }
        let error = parse_limit("0s").expect_err("0 is no limit");
        assert_eq!(
            error.to_string(),
            "\"0s\": a limit is more than 0; for no limit at all say off"
        );
    }

    #[test]
    fn the_largest_duration_is_read_and_one_second_more_is_not() {
        let most = u64::MAX;
        assert_eq!(parse_duration(&format!("{most}s")), Ok(Duration::from_secs(most)));
        assert!(parse_duration(&format!("{}s", u128::from(most) + 1)).is_err());
        assert_eq!(
            parse_duration("5124095576030431h").map(|d| d.as_secs() / 3600),
            Ok(most / 3600)
        );
    }

    #[test]
    fn durations_are_written_in_the_largest_exact_unit() {
        for (duration, text) in [
            (Duration::ZERO, "0ms"),
            (Duration::from_millis(250), "250ms"),
            (Duration::from_millis(1000), "1s"),
            (Duration::from_millis(1500), "1500ms"),
            (Duration::from_secs(90), "90s"),
            (Duration::from_secs(300), "5m"),
            (Duration::from_secs(3600), "1h"),
            (Duration::from_secs(3660), "61m"),
            (Duration::from_micros(1_500), "1500us"),
            (Duration::from_nanos(1), "1ns"),
            (Duration::MAX, "18446744073709551615999999999ns"),
        ] {
            assert_eq!(DurationText(duration).to_string(), text);
            assert_eq!(parse_duration(text), Ok(duration), "{text} reads back");
        }
    }

    #[test]
    fn limits_read_off_as_none() {
        for limit in [None, Some(Duration::from_millis(1)), Some(Duration::MAX)] {
            assert_eq!(parse_limit(&LimitText(limit).to_string()), Ok(limit));
        }
        assert!(parse_limit("none").is_err());
        assert!(parse_limit("OFF").is_err());
    }

    #[test]
    fn sizes_read_and_are_written() {
        for (text, bytes) in [
            ("0", 0),
            ("1", 1),
            ("1023", 1023),
            ("1k", 1024),
            ("64k", 65_536),
            ("1025k", 1_049_600),
            ("16m", 16_777_216),
            ("1024m", 1 << 30),
            ("17592186044415m", u64::MAX - 0xf_ffff),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_size(text), Ok(bytes));
            assert_eq!(SizeText(bytes).to_string(), text);
        }
        for text in
            ["", "k", "-1", "1.5m", "64K", "64kb", "17592186044416m", "99999999999999999999"]
        {
            assert!(parse_size(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn flags_read() {
        for (text, flag) in [
            ("on", true),
            ("true", true),
            ("1", true),
            ("off", false),
            ("false", false),
            (" 0 ", false),
        ] {
            assert_eq!(parse_flag(text), Ok(flag), "{text:?}");
        }
        for text in ["", "yes", "ON", "2", "on off"] {
            assert!(parse_flag(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_long_value_is_cut_in_the_error_also_between_wide_characters() {
        let error = parse_flag(&"é".repeat(1000)).expect_err("no flag");
        assert_eq!(error.value(), format!("{}…", "é".repeat(64)));
        assert_eq!(parse_flag(&"x".repeat(64)).expect_err("no flag").value(), "x".repeat(64));
    }
}
