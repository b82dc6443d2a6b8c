//! Base URLs, and joining a path to one (ruling R16). The first line is the base, the rest the path.

use anyhost::inject::{Answer, AnswerBody, Attempt, Ending, HeaderMap, Phase, Report, Transport};
use anyhost::testing::ManualClock;
use anyhost::{Client, Endpoint, Status};
use std::sync::{Arc, Mutex};
use url::Url;

/// Two passwords. Whatever is shown of a base is the same with either.
const PASSWORDS: [&str; 2] = ["s3cr3t", "0th3r1"];

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
    let shown = shown(base, path);
    if let Some(other) = with_other_password(base) {
        assert_eq!(shown, self::shown(&other, path), "{base}");
    }
}

/// The same base with the other password, where the one is its password.
fn with_other_password(base: &str) -> Option<String> {
    let [one, two] = PASSWORDS;
    let has = |base: &str, word| Url::parse(base).is_ok_and(|url| url.password() == Some(word));
    let (written, other) = (format!(":{one}@"), base.replacen(one, two, 1));
    // Not what stands elsewhere, and may be shown.
    let (before, _) = base.split_once(&written)?;
    (!before.contains(one) && has(base, one) && has(&other, two)).then_some(other)
}

/// Everything that is shown of a base and a call at it.
fn shown(base: &str, path: &str) -> String {
    let endpoint = match Endpoint::new(base) {
        Ok(endpoint) => endpoint,
        Err(error) => {
            assert_eq!(error.status(), Status::Url);
            return format!("{error} {error:?}");
        }
    };
    let mut shown = format!("{endpoint:?}");
    let base = Url::parse(base).expect("what we take is a URL");
    let kept = Kept::default();
    let client = Client::builder()
        .endpoint(endpoint)
        .seed(1)
        .clock(ManualClock::new())
        .transport(kept.clone())
        .build()
        .unwrap();
    let members = client.snapshot();
    shown += &format!("{:?}", members.members());
    let answer = match client.get(path).send() {
        Ok(answer) => answer,
        Err(error) => {
            assert_eq!(error.status(), Status::Argument);
            assert!(kept.0.lock().unwrap().is_empty());
            return format!("{shown} {error} {error:?}");
        }
    };
    shown += answer.url();
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
    shown
}
