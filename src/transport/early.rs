//! Recognises a final answer that comes before the request was sent.
//!
//! A server may answer 413 and read no further. It may also send any number of interim answers
//! (1xx, RFC 9110 section 15.2) and read on; giving up the upload for one of those would leave both
//! sides waiting for each other. Not here: parsing the answer, which ureq does from the same bytes.

/// Whether `input`, from the start of an answer, goes on to a final status.
///
/// 101 counts as final: nothing else will come. Bytes that are no HTTP at all count as final too,
/// so that the parser gets to judge them.
pub(super) fn begins_final_answer(mut input: &[u8]) -> bool {
    const STATUS: usize = "HTTP/1.1 ".len();
    loop {
        let Some(status) = input.get(STATUS..STATUS + 3) else { return false };
        if !input.starts_with(b"HTTP/1.") || status[0] != b'1' || status == b"101" {
            return true;
        }
        match end_of_head(input) {
            Some(end) => input = &input[end..],
            None => return false,
        }
    }
}

fn end_of_head(input: &[u8]) -> Option<usize> {
    let crlf = input.windows(4).position(|w| w == b"\r\n\r\n").map(|at| at + 4);
    let lf = input.windows(2).position(|w| w == b"\n\n").map(|at| at + 2);
    match (crlf, lf) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interim_answers_are_no_answer() {
        let cases: [(&str, bool); 10] = [
            ("", false),
            ("HTTP/1.1 4", false),
            ("HTTP/1.1 413", true),
            ("HTTP/1.0 200 OK\r\n", true),
            ("HTTP/1.1 100 Continue\r\n\r\n", false),
            ("HTTP/1.1 103 Early\r\nLink: <a>\r\n", false),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 E\r\nL: a\r\n\r\nHTTP/1.1 413 X", true),
            ("HTTP/1.1 100 C\n\nHTTP/1.1 102 P\r\n\r\nHTTP/1.1 1", false),
            ("HTTP/1.1 101 Switching", true),
            ("SSH-2.0-OpenSSH_9.2", true),
        ];
        for (input, is_final) in cases {
            assert_eq!(begins_final_answer(input.as_bytes()), is_final, "{input:?}");
        }
    }
}
