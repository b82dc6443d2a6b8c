//! Snapshots and errors as JSON, the same text from Rust and from C.
//!
//! Fields are named as the getters of the C header, families of numbers by their names. Fields may be
//! added in later versions; none changes its meaning.

mod writer;

use super::attempt::Attempt;
use super::error::{Error, Refusal};
use super::snapshot::{Member, Snapshot, Transition};
use super::wait::whole_ms;
use writer::Object;

impl Snapshot {
    /// The snapshot as a JSON object: `members`, each with its state, why, numbers, `reasons` (failed
    /// attempts by reason) and `transitions` (its last 16 changes of state, oldest first). Times are in
    /// the unit that the name of the field ends with.
    ///
    /// ```
    /// let client = anyhost::Client::new("https://a.example, https://b.example")?;
    /// let json = client.snapshot().to_json();
    /// assert!(json.starts_with(r#"{"members":[{"label":"https://a.example""#));
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    pub fn to_json(&self) -> String {
        document(|object| object.list("members", self.members(), member))
    }
}

impl Error {
    /// The error as a JSON object: its status by number and name, its message, what is certain about
    /// the delivery, and `attempts`; where nothing could be tried, `refused` says why. For a log that
    /// machines read; [`explain`](Error::explain) is for people.
    ///
    /// ```
    /// let error = anyhost::Client::new("gopher://a.example").unwrap_err();
    /// assert!(error.to_json().starts_with(r#"{"status":100,"status_name":"URL","message":"#));
    /// ```
    pub fn to_json(&self) -> String {
        document(|object| {
            object.plain("status", self.status().code());
            object.text("status_name", self.status().name());
            object.text("message", &self.to_string());
            object.text_if_any("option", self.option());
            object.text("reason", self.reason().name());
            object.text("phase", self.phase().name());
            object.text("delivery", self.delivery().name());
            object.plain("http_status", self.http_status().unwrap_or(0));
            object.plain("os_error", self.os_error());
            object.plain("retry_after_ms", whole_ms(self.retry_after().unwrap_or_default()));
            object.list("attempts", self.attempts(), attempt);
            object.list("refused", self.refused(), refusal);
        })
    }
}

fn document(fields: impl FnOnce(&mut Object<'_>)) -> String {
    let mut out = String::new();
    Object::write(&mut out, fields);
    out
}

fn member(object: &mut Object<'_>, member: &Member) {
    object.text("label", member.label());
    object.text("url", member.url());
    object.text("kind", member.kind().name());
    object.text("state", member.state().name());
    object.text("reason", member.reason().name());
    object.text("phase", member.phase().name());
    object.text("detail", member.detail());
    object.plain("priority", member.priority());
    object.plain("weight", member.weight());
    object.plain("max_weight", member.max_weight());
    object.plain("failures_in_a_row", member.failures_in_a_row());
    object.plain("in_flight", member.in_flight());
    object.plain("cooling_ms", whole_ms(member.cooling()));
    object.plain("since_ms", member.since().as_millis());
    object.plain("attempts", member.attempts());
    object.plain("successes", member.successes());
    object.plain("failures", member.failures());
    object.plain("latency_us", member.latency().unwrap_or_default().as_micros());
    object.object("reasons", |object| {
        for (reason, count) in member.counts() {
            object.plain(reason.name(), count);
        }
    });
    object.list("transitions", member.transitions(), transition);
}

fn transition(object: &mut Object<'_>, it: &Transition) {
    object.plain("ago_ms", whole_ms(it.ago));
    object.text("from", it.from.name());
    object.text("to", it.to.name());
    object.text("reason", it.reason.name());
    object.text("phase", it.phase.name());
}

fn attempt(object: &mut Object<'_>, attempt: &Attempt) {
    object.plain("number", attempt.number());
    object.text("endpoint", attempt.endpoint());
    object.text_if_any("proxy", attempt.proxy());
    object.text("phase", attempt.phase().name());
    object.text("reason", attempt.reason().name());
    object.text("delivery", attempt.delivery().name());
    object.plain("http_status", attempt.http_status().unwrap_or(0));
    object.plain("reused_connection", attempt.reused_connection());
    object.plain("is_replay", attempt.is_replay());
    object.plain("is_hop", attempt.is_hop());
    object.plain("os_error", attempt.os_error());
    object.plain("retry_after_ms", whole_ms(attempt.retry_after().unwrap_or_default()));
    object.plain("started_us", attempt.started().as_micros());
    object.plain("elapsed_us", attempt.elapsed().as_micros());
    object.plain("bytes_sent", attempt.bytes_sent());
    object.plain("bytes_received", attempt.bytes_received());
    object.text("message", attempt.message());
}

fn refusal(object: &mut Object<'_>, refusal: &Refusal) {
    object.text(refusal.kind.name(), &refusal.label);
    object.text("state", refusal.state.name());
    object.text("reason", refusal.reason.name());
    object.plain("wait_ms", whole_ms(refusal.wait));
}
