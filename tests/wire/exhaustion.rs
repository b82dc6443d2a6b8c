//! What a call hands out when nothing is left to try (R11): the last complete answer if there was
//! one, else the last error, and always the list of attempts.

use crate::support::*;
use crate::{order, over, told};
use anyhost::{Body, Delivery, Phase, Reason, Resend, Status};

fn last_words(status: u16) -> Reply {
    Reply::status(status).header("X-From", "a").body("the body of a")
}

#[track_caller]
fn is_the_answer_of_a(answer: &anyhost::Response, status: u16) {
    assert_eq!(answer.status(), status);
    assert_eq!(answer.header("x-from"), Some("a"));
    assert_eq!(answer.text().unwrap(), "the body of a");
}

/// F11 too: status and body reach the caller unchanged.
#[test]
fn an_earlier_answer_is_the_result_when_later_endpoints_fail() {
    for reply in [
        Reply::resets(),
        Reply::closed(),
        Reply::holds(),
        Reply::raw("SSH-2.0-x\r\n").close(),
        Reply::ok("0123456789").cut(4),
    ] {
        let (a, b, c) = (Server::start(last_words(503)), Server::start(reply), refusing_address());
        let client = over(&[&a, &b, &c]).attempt_timeout(ms(200)).build().unwrap();
        let answer = client.get("/").send().unwrap();
        is_the_answer_of_a(&answer, 503);
        assert_eq!(order(answer.attempts(), &[&a, &b, &c]), [0, 1, 2]);
        assert_eq!(answer.endpoint(), a.url());
        assert_eq!(answer.attempts()[2].reason(), Reason::Refused);
    }
}

/// The last complete one, not the first and not the worst.
#[test]
fn the_last_of_several_answers_is_the_result() {
    let b = Server::start(Reply::status(504).body("b"));
    let a = Server::start(last_words(502));
    let c = Server::start(Reply::resets());
    let answer = over(&[&b, &a, &c]).build().unwrap().get("/").send().unwrap();
    is_the_answer_of_a(&answer, 502);
}

#[test]
fn without_an_answer_the_last_error_is_the_result() {
    let (a, b) = (Server::start(Reply::closed()), Server::start(Reply::resets()));
    let c = refusing_address();
    let error = over(&[&a, &b, &c]).build().unwrap().get("/").send().unwrap_err();
    assert_eq!(error.status(), Status::AttemptsSpent);
    assert_eq!(
        told(error.attempts()),
        [
            (Reason::Eof, Phase::Head, Delivery::Maybe),
            (Reason::Reset, Phase::Head, Delivery::Maybe),
            (Reason::Refused, Phase::Connect, Delivery::NotSent)
        ]
    );
    // The last attempt tells why; the delivery is the most certain of all of them.
    assert_eq!((error.reason(), error.delivery()), (Reason::Refused, Delivery::Maybe));
    let numbers: Vec<_> = error.attempts().iter().map(|a| a.number()).collect();
    assert_eq!(numbers, [1, 2, 3]);
}

#[test]
fn an_earlier_answer_is_the_result_when_the_deadline_ends_the_call() {
    let (a, b) = (Server::start(last_words(503)), Server::start(Reply::holds()));
    let client = over(&[&a, &b]).deadline(ms(400)).build().unwrap();
    let (answer, took) = timed(|| client.get("/").send().unwrap());
    within(ms(400), took, ms(300));
    is_the_answer_of_a(&answer, 503);
    assert_eq!(answer.attempts()[1].reason(), Reason::Deadline);

    // And when it would pass during a wait: no wait then.
    let client = over(&[&a])
        .attempts_per_endpoint(2)
        .backoff_base(ms(30_000))
        .backoff_max(ms(30_000))
        .deadline(ms(500))
        .seed(1)
        .build()
        .unwrap();
    let (answer, took) = timed(|| client.get("/").send().unwrap());
    assert!(took < ms(450), "{took:?}");
    is_the_answer_of_a(&answer, 503);
    assert_eq!(answer.attempts().len(), 1);
}

#[test]
fn an_answer_is_the_result_when_the_body_cannot_be_sent_again() {
    let (a, b) = (Server::start(last_words(503)), Server::start(Reply::ok("b")));
    let client = over(&[&a, &b]).resend(Resend::Any).build().unwrap();
    let answer = client.post("/").body(Body::reader(&b"abc"[..], None)).send().unwrap();
    is_the_answer_of_a(&answer, 503);
    assert_eq!(b.connections(), 0);
}

/// `max_attempts` ends a call as running out of endpoints does.
#[test]
fn max_attempts_ends_the_call_with_the_answer() {
    let (a, b) = (Server::start(last_words(503)), Server::start(Reply::ok("b")));
    let client = over(&[&a, &b]).max_attempts(1).build().unwrap();
    is_the_answer_of_a(&client.get("/").send().unwrap(), 503);
    assert_eq!(b.connections(), 0);
}

/// The one answer that does not win: it would hide that the write may have been carried out.
#[test]
fn an_earlier_521_does_not_hide_that_a_post_may_have_been_carried_out() {
    let (p, f) = (Server::start(last_words(521)), Server::start(Reply::resets()));
    let client = over(&[&p, &f]).hold_for(ms(0)).build().unwrap();
    let error = client.post("/").body("x").send().unwrap_err();
    assert_eq!(error.status(), Status::AttemptsSpent);
    assert_eq!((error.reason(), error.delivery()), (Reason::Reset, Delivery::Maybe));
    assert_eq!(
        told(error.attempts()),
        [
            (Reason::Status5xx, Phase::Body, Delivery::NotProcessed),
            (Reason::Reset, Phase::Head, Delivery::Maybe)
        ]
    );
    assert_eq!(error.http_status(), Some(521));

    // Nothing is hidden where the write certainly got nowhere, or may be repeated anyway.
    let f = refusing_address();
    let client = over(&[&p, &f]).build().unwrap();
    is_the_answer_of_a(&client.post("/").send().unwrap(), 521);
    is_the_answer_of_a(&client.get("/").send().unwrap(), 521);
}

/// An answer that `require_success` turns down is still there, with every attempt.
#[test]
fn a_rejected_answer_is_kept_in_the_error() {
    let (a, b) = (Server::start(last_words(503)), refusing_address());
    let client = over(&[&a, &b]).require_success(true).build().unwrap();
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.http_status()), (Status::Rejected, Some(503)));
    assert_eq!(error.delivery(), Delivery::Answered);
    is_the_answer_of_a(error.answer().expect("the answer"), 503);
    assert_eq!(order(error.attempts(), &[&a, &b]), [0, 1]);
}
