//! Which requests may go out a second time after a server may have seen the first.

/// How far resending goes after a request may have reached a server (ruling R1).
///
/// Whatever this says, a request that certainly reached no server may always be tried elsewhere, and
/// a body that cannot be produced again is never sent twice.
///
/// # Default
///
/// `Safe`, as seed 000 has it: GET and HEAD. RFC 9110 §9.2.2 also calls PUT and DELETE idempotent,
/// but a PUT repeated on another host can undo a write that came between; widen it where you know.
///
/// ```
/// use anyhost::testing::{Reply, ScriptedTransport};
/// use anyhost::{Client, Resend};
///
/// let (a, b) = ("https://a.example", "https://b.example");
/// let network =
///     ScriptedTransport::new().on(a, [Reply::resets_after_sending()]).on(b, [Reply::ok("done")]);
/// let client = Client::builder().base_urls(&format!("{a}, {b}")).transport(network.clone()).build()?;
///
/// // The service recognises repeats by this key, so this one request may go out again.
/// let answer = client.post("/orders").header("Idempotency-Key", "5ac1").resend(Resend::Any).send()?;
/// assert_eq!(answer.endpoint(), b);
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Resend {
    /// No request.
    Never,
    /// GET and HEAD.
    #[default]
    Safe,
    /// Also OPTIONS, TRACE, PUT and DELETE (RFC 9110 §9.2.2).
    Idempotent,
    /// Every request. The server has to tell repeats apart, by an idempotency key for example.
    Any,
}

impl Resend {
    /// Whether a request of this method may be sent again. Methods are case-sensitive
    /// (RFC 9110 §9.1): `get` is an unknown method, and an unknown method is not repeated.
    ///
    /// ```
    /// use anyhost::Resend;
    ///
    /// let steps = [Resend::Never, Resend::Safe, Resend::Idempotent, Resend::Any];
    /// let permits = |method| steps.map(|it| it.permits(method));
    /// assert_eq!(permits("GET"), [false, true, true, true]);
    /// assert_eq!(permits("PUT"), [false, false, true, true]);
    /// assert_eq!(permits("POST"), [false, false, false, true]);
    /// ```
    pub fn permits(self, method: &str) -> bool {
        match self {
            Resend::Never => false,
            Resend::Safe => matches!(method, "GET" | "HEAD"),
            Resend::Idempotent => {
                matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE")
            }
            Resend::Any => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_permits_more_methods() {
        let methods =
            ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "POST", "PATCH", "PURGE", "get"];
        for (resend, permitted) in [
            (Resend::Never, 0),
            (Resend::Safe, 2),
            (Resend::Idempotent, 6),
            (Resend::Any, methods.len()),
        ] {
            let got: Vec<_> = methods.iter().filter(|method| resend.permits(method)).collect();
            assert_eq!(got, methods[..permitted].iter().collect::<Vec<_>>(), "{resend:?}");
        }
    }
}
