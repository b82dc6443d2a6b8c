//! How long an idle connection can be used after an answer: what the server says of it, as in
//! `Keep-Alive: timeout=5, max=100`, and whether it is certain where the answer ended.
//!
//! The field is older than HTTP/1.1 and in no RFC but as a name (RFC 9110 section 7.6.1); servers that
//! send it mean it, and a request sent just as they close fails for nothing. Not here: `max`, after
//! which servers say `Connection: close`.

use http::header::HeaderMap;
use std::time::Duration;

/// Sent so much before its time is over, a request still arrives before the server closes.
const MARGIN: Duration = Duration::from_secs(1);

/// How long the connection may be idle and still be used, after an answer with these headers: what
/// the server grants, less a second. `None` where it does not say.
///
/// One with a Content-Length beside a Transfer-Encoding is the last of its connection: the latter counts,
/// and whoever read it by the former would see the next answer begin elsewhere (RFC 9112 section 6.3).
pub(super) fn reusable_for(headers: &HeaderMap) -> Option<Duration> {
    // One walk over the few headers of an answer costs less than looking three of them up.
    let (mut length, mut coding, mut granted) = (false, false, None);
    for (name, value) in headers {
        match name.as_str() {
            "content-length" => length = true,
            "transfer-encoding" => coding = true,
            "keep-alive" => {
                let line = value.to_str().unwrap_or_default();
                granted = line.split([',', ';']).filter_map(timeout).chain(granted).min();
            }
            _ => {}
        }
    }
    match length && coding {
        true => Some(Duration::ZERO),
        false => granted.map(|granted| granted.saturating_sub(MARGIN)),
    }
}

fn timeout(parameter: &str) -> Option<Duration> {
    let (name, value) = parameter.split_once('=')?;
    let seconds = value.trim().trim_matches('"');
    let seconds: u32 = seconds.parse().ok()?;
    name.trim().eq_ignore_ascii_case("timeout").then_some(Duration::from_secs(seconds.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_before_its_time_is_the_last() {
        for (lines, seconds) in [
            (&["timeout=5"][..], Some(4)),
            (&["timeout=5, max=100"], Some(4)),
            (&["max=100 , Timeout = 20"], Some(19)),
            (&["timeout=\"7\""], Some(6)),
            (&["timeout=1"], Some(0)),
            (&["timeout=0"], Some(0)),
            (&["max=5", "timeout=9, timeout=3"], Some(2)),
            (&["max=100"], None),
            (&["timeout"], None),
            (&["timeout=soon"], None),
            (&["timeout=-5"], None),
            (&["timeout=99999999999"], None),
            (&[], None),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append("Keep-Alive", line.parse().unwrap());
            }
            assert_eq!(reusable_for(&headers), seconds.map(Duration::from_secs), "{lines:?}");
        }
    }
}
