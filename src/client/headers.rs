//! Headers of a request: checked when they are set, and marked where they are secret.

use super::error::{Error, Result};
use super::status::Status;
use http::header::{CONNECTION, CONTENT_LENGTH, HeaderName, HeaderValue, TRANSFER_ENCODING};

/// Headers whose values are secrets wherever they stand (ruling R15).
const SECRET: [&str; 6] =
    ["authorization", "cookie", "proxy-authorization", "x-api-key", "api-key", "x-auth-token"];

/// Takes a name and a value as they may go on the wire. An error names the header and never its
/// value, which may be a secret.
pub(crate) fn parse(name: &[u8], value: &[u8], secret: bool) -> Result<(HeaderName, HeaderValue)> {
    let name = parse_name(name)?;
    let mut value = HeaderValue::from_bytes(trimmed(value)).map_err(|_| {
        fail(format!("the value of header `{name}` has a control character such as CR, LF or NUL"))
    })?;
    value.set_sensitive(secret || SECRET.contains(&name.as_str()));
    Ok((name, value))
}

/// Takes a name. What frames a message follows from its body, and is refused.
pub(crate) fn parse_name(name: &[u8]) -> Result<HeaderName> {
    let Ok(parsed) = HeaderName::from_bytes(name) else {
        let shown = String::from_utf8_lossy(name);
        return Err(fail(format!("`{}` is no name of a header", shown.escape_debug())));
    };
    if [CONTENT_LENGTH, TRANSFER_ENCODING, CONNECTION].contains(&parsed) {
        return Err(fail(format!(
            "header `{parsed}` is set by anyhost, from the body and the state of the connection"
        )));
    }
    Ok(parsed)
}

/// RFC 9110 §5.5: blanks around a value are no part of it.
fn trimmed(value: &[u8]) -> &[u8] {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = value.iter().position(|byte| !blank(byte)).unwrap_or(value.len());
    let end = value.iter().rposition(|byte| !blank(byte)).map_or(start, |last| last + 1);
    &value[start..end]
}

fn fail(message: String) -> Error {
    Error::of_option(Status::Argument, "header", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R15, F116: what would forge a header is refused, and the message shows no value.
    #[test]
    fn what_cannot_be_sent_is_refused_without_showing_the_value() {
        for (name, value) in [
            (&b"x-a"[..], &b"geheim\r\nX: b"[..]),
            (b"x-a", b"geheim\nb"),
            (b"x-a", b"geheim\0"),
            (b"a b", b"geheim"),
            (b"", b"geheim"),
            (b"x-a\r\n", b"geheim"),
            (b"x:a", b"geheim"),
            (b"Content-Length", b"geheim"),
            (b"transfer-encoding", b"geheim"),
            (b"Connection", b"geheim"),
        ] {
            let error = parse(name, value, false).unwrap_err();
            assert_eq!(error.status(), Status::Argument);
            assert_eq!(error.option(), Some("header"));
            assert!(!error.to_string().contains("geheim"), "{error}");
        }
    }

    #[test]
    fn values_keep_their_bytes_but_for_blanks_around_them() {
        let (name, value) = parse(b"X-Name", b" \ta \xfcb\t ", false).unwrap();
        assert_eq!((name.as_str(), value.as_bytes()), ("x-name", &b"a \xfcb"[..]));
    }

    #[test]
    fn secrets_are_marked() {
        for (name, secret, marked) in [
            ("AUTHORIZATION", false, true),
            ("X-Api-Key", false, true),
            ("cookie", false, true),
            ("X-Other", true, true),
            ("X-Other", false, false),
        ] {
            let (_, value) = parse(name.as_bytes(), b"v", secret).unwrap();
            assert_eq!(value.is_sensitive(), marked, "{name}");
        }
    }
}
