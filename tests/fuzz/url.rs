//! Base URLs, and joining a path to one (ruling R16). The first line is the base, the rest the path.

use anyhost::inject::{Answer, AnswerBody, Attempt, Ending, HeaderMap, Phase, Report, Transport};
use anyhost::{Client, Endpoint, Status};
use std::sync::{Arc, Mutex};
use url::Url;

/// In the user info of a base it must never be seen again.
const SECRET: &str = "s3cr3t";

/// Keeps the URL it is asked for.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<String>>>);

impl Transport for Kept {
    fn attempt(&self, attempt: Attempt<'_>) -> (Report, Option<Answer>) {
        self.0.lock().unwrap().push(attempt.url.to_owned());
        let answer = Answer { status: 204, headers: HeaderMap::new(), body: AnswerBody::default() };
        let report = Report {
            phase: Phase::Body,
            ending: Ending::Answered,
            status: Some(204),
            asked_to_send: true,
            ..Report::new()
        };
        (report, Some(answer))
    }
}

pub(crate) fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (base, path) = text.split_once('\n').unwrap_or((text, ""));
    let parsed = Url::parse(base);
    let secret = parsed.as_ref().is_ok_and(|url| {
        // As given: what a path with dots in it comes to is another text.
        let rest = base.rsplit_once('@').map_or("", |(_, rest)| rest);
        let once = base.matches(SECRET).count() == 1 && !rest.contains(SECRET);
        once && url.password() == Some(SECRET)
    });
    let shows = |shown: &str| secret && shown.contains(SECRET);
    let endpoint = match Endpoint::new(base) {
        Ok(endpoint) => endpoint,
        Err(error) => {
            assert_eq!(error.status(), Status::Url);
            assert!(!shows(&error.to_string()) && !shows(&format!("{error:?}")), "{error}");
            return;
        }
    };
    assert!(!shows(&format!("{endpoint:?}")));
    let base = parsed.expect("what we take is a URL");
    let kept = Kept::default();
    let client = Client::builder().endpoint(endpoint).transport(kept.clone()).build().unwrap();
    assert!(!shows(&format!("{client:?} {:?}", client.snapshot())));
    let answer = match client.get(path).send() {
        Ok(answer) => answer,
        Err(error) => {
            assert_eq!(error.status(), Status::Argument);
            assert!(kept.0.lock().unwrap().is_empty());
            return;
        }
    };
    assert!(!shows(&format!("{answer:?} {}", answer.url())));
    let asked = kept.0.lock().unwrap().pop().expect("it was asked for");
    // It goes where the base says, with no word of who asks, and the path as it was given.
    let joined = Url::parse(&asked).expect("a URL");
    assert_eq!(joined.origin(), base.origin(), "{asked}");
    assert_eq!((joined.username(), joined.password(), joined.fragment()), ("", None, None));
    let uri: http::Uri = asked.parse().expect("a URI");
    assert_eq!(uri.host().map(str::to_owned), base.host_str().map(str::to_owned), "{asked}");
    assert!(asked.ends_with(path), "{asked} of {path}");
    let sane = |c: char| c.is_ascii_graphic() && !"<>`#".contains(c);
    assert!(asked.chars().all(sane), "{asked}");
}
