//! Retry-After: seeds.md 7.6 and invariant 52.

use anyhost::decide::retry_after;
use std::time::Duration;

/// Sun, 29 Nov 2026 12:00:00 GMT.
const NOW: u64 = 1_795_953_600;
const HOUR: u64 = 3600;

const TODAY: &str = "Sun, 29 Nov 2026 12:00:00 GMT";

fn seconds(lines: &[&str], date: Option<&str>) -> Option<u64> {
    let wait = retry_after(lines.iter().copied(), date, NOW)?;
    assert_eq!(wait.subsec_nanos(), 0);
    Some(wait.as_secs())
}

#[test]
fn delta_seconds() {
    let rows = [
        ("0", None),
        ("120", Some(120)),
        (" 120 ", Some(120)),
        ("\t120\t", Some(120)),
        ("007", Some(7)),
        ("-1", None),
        ("-5", None),
        ("+1", None),
        ("1.5", None),
        ("1e3", None),
        ("1 2", None),
        ("120, 240", None),
        ("abc", None),
        ("", None),
        (" ", None),
        ("\u{a0}120", None),
        ("\u{661}", None),
        ("2147483648", Some(1 << 31)),
        ("18446744073709551615", Some(u64::MAX)),
        ("18446744073709551616", Some(u64::MAX)),
        ("1000000000000000000000000000000", Some(u64::MAX)),
    ];
    for (value, expected) in rows {
        assert_eq!(seconds(&[value], None), expected, "invariant 52: {value:?}");
        assert_eq!(seconds(&[value], Some(TODAY)), expected, "invariant 52: {value:?}, any Date");
    }
}

#[test]
fn dates() {
    let end_of_9999 = 253_402_300_799 - NOW;
    let rows = [
        // The three forms.
        ("Sun, 29 Nov 2026 12:02:00 GMT", Some(120)),
        ("Sunday, 29-Nov-26 12:02:00 GMT", Some(120)),
        ("Sun Nov 29 12:02:00 2026", Some(120)),
        ("Thu Dec  3 12:00:00 2026", Some(4 * 24 * HOUR)),
        ("Thu Dec 03 12:00:00 2026", Some(4 * 24 * HOUR)),
        (" Sun, 29 Nov 2026 12:02:00 GMT ", Some(120)),
        // Past, present, and the far ends.
        ("Sun, 29 Nov 2026 11:59:59 GMT", None),
        ("Sun, 29 Nov 2026 12:00:00 GMT", None),
        ("Sun, 06 Nov 1994 08:49:37 GMT", None),
        ("Thu, 01 Jan 1970 00:00:00 GMT", None),
        ("Sat, 01 Jan 0000 00:00:00 GMT", None),
        ("Fri, 31 Dec 9999 23:59:59 GMT", Some(end_of_9999)),
        ("Fri, 31 Dec 10000 23:59:59 GMT", None),
        // The century of an RFC 850 date: up to 50 years ahead, to the second.
        ("Sunday, 29-Nov-76 12:00:00 GMT", Some(1_577_923_200)),
        ("Sunday, 29-Nov-76 12:00:01 GMT", None),
        ("Monday, 29-Nov-77 12:00:00 GMT", None),
        ("Sunday, 06-Nov-94 08:49:37 GMT", None),
        ("Friday, 01-Jan-27 00:00:00 GMT", Some(32 * 24 * HOUR + 12 * HOUR)),
        // A leap second is there, and is the second after :59.
        ("Sun, 29 Nov 2026 12:00:59 GMT", Some(59)),
        ("Sun, 29 Nov 2026 12:00:60 GMT", Some(60)),
        ("Sun, 29 Nov 2026 12:00:61 GMT", None),
        // A wrong weekday leaves no doubt; an unknown one is not a date.
        ("Mon, 29 Nov 2026 12:02:00 GMT", Some(120)),
        ("Monday, 29-Nov-26 12:02:00 GMT", Some(120)),
        ("Xyz, 29 Nov 2026 12:02:00 GMT", None),
        ("Sunday, 29 Nov 2026 12:02:00 GMT", None),
        ("Sun, 29-Nov-26 12:02:00 GMT", None),
        // Not HTTP dates.
        ("Sun, 29 nov 2026 12:02:00 GMT", None),
        ("sun, 29 Nov 2026 12:02:00 GMT", None),
        ("Sun, 29 Nov 2026 12:02:00 +0000", None),
        ("Sun, 29 Nov 2026 12:02:00 UTC", None),
        ("Sun, 29 Nov 2026 12:02:00", None),
        ("Sun, 29 Nov 2026 12:02:00 GMT+1", None),
        ("Sun, 29  Nov 2026 12:02:00 GMT", None),
        ("Sun, 29 Nov 2026 12:02 GMT", None),
        ("Sun, 29 Nov 2026 12:02:00:00 GMT", None),
        ("Sun, 29 Nov 2026 1:02:00 GMT", None),
        ("Sun, 29 Nov 2026 24:00:00 GMT", None),
        ("Sun, 29 Nov 2026 12:60:00 GMT", None),
        ("Sun, 31 Nov 2026 12:02:00 GMT", None),
        ("Sun, 00 Dec 2026 12:02:00 GMT", None),
        ("Mon, 29 Feb 2027 12:02:00 GMT", None),
        ("Tue, 29 Feb 2028 12:00:00 GMT", Some(457 * 24 * HOUR)),
        ("Sun, 9 Dec 2026 12:02:00 GMT", None),
        ("Sun, +9 Dec 2026 12:02:00 GMT", None),
        ("Sunday, 29-Nov-2026 12:02:00 GMT", None),
        ("Sun Nov 29 12:02:00 2026 GMT", None),
        ("2026-11-29T12:02:00Z", None),
        ("Sun, 29 Nov 2026 12:02:00 \u{1d402}MT", None),
        ("Sun Nov \u{1d7ce}9 12:02:00 2026", None),
    ];
    for (value, expected) in rows {
        assert_eq!(seconds(&[value], None), expected, "invariant 52: {value}, by the wall clock");
        assert_eq!(seconds(&[value], Some(TODAY)), expected, "invariant 52: {value}, by Date");
    }
}

#[test]
fn a_date_is_relative_to_the_date_of_its_answer() {
    let rows = [
        (
            "the server is an hour behind",
            "Sun, 29 Nov 2026 11:02:00 GMT",
            Some("Sun, 29 Nov 2026 11:00:00 GMT"),
            Some(120),
        ),
        (
            "the server is an hour ahead",
            "Sun, 29 Nov 2026 13:02:00 GMT",
            Some("Sun, 29 Nov 2026 13:00:00 GMT"),
            Some(120),
        ),
        (
            "past by its own Date",
            "Sun, 29 Nov 2026 12:02:00 GMT",
            Some("Sun, 29 Nov 2026 13:00:00 GMT"),
            None,
        ),
        (
            "Date in another form",
            "Sun, 29 Nov 2026 11:02:00 GMT",
            Some("Sun Nov 29 11:00:00 2026"),
            Some(120),
        ),
        ("Date is malformed", "Sun, 29 Nov 2026 12:02:00 GMT", Some("yesterday"), Some(120)),
        ("Date is empty", "Sun, 29 Nov 2026 12:02:00 GMT", Some(""), Some(120)),
        ("no Date", "Sun, 29 Nov 2026 12:02:00 GMT", None, Some(120)),
    ];
    for (case, value, date, expected) in rows {
        assert_eq!(seconds(&[value], date), expected, "R10, invariant 52: {case}");
    }
}

#[test]
fn the_longest_of_several_lines_counts() {
    let rows: [(&[&str], Option<u64>); 5] = [
        (&[], None),
        (&["10", "120"], Some(120)),
        (&["120", "10"], Some(120)),
        (&["abc", "10"], Some(10)),
        (&["10", "Sun, 29 Nov 2026 12:02:00 GMT", "-1"], Some(120)),
    ];
    for (lines, expected) in rows {
        assert_eq!(seconds(lines, None), expected, "invariant 52: {lines:?}");
    }
}

/// Around the leap day that one century has and the next has not.
#[test]
fn rfc850_century_on_29_february() {
    // 1 Jan 2060: 29-Feb-00 can be 2000 or 2100, and 2100 is no leap year.
    let year_2060 = 2_840_140_800;
    assert_eq!(retry_after(["Tuesday, 29-Feb-00 00:00:00 GMT"], None, year_2060), None);
    let march = retry_after(["Monday, 01-Mar-00 00:00:00 GMT"], None, year_2060).unwrap();
    assert_eq!(march, Duration::from_secs(4_107_542_400 - year_2060), "1 March 2100");
}

#[test]
fn an_absurd_wall_clock_is_harmless() {
    let date = ["Fri, 31 Dec 9999 23:59:59 GMT", "Friday, 31-Dec-99 23:59:59 GMT"];
    assert_eq!(retry_after(date, None, u64::MAX), None);
    assert_eq!(retry_after(["7"], None, u64::MAX), Some(Duration::from_secs(7)));
}
