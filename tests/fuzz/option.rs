//! Every option with any text. The first byte says which option, the rest is the text.

use anyhost::{Client, Request, Status, StatusSet, Timeout, options, split_base_urls};

pub(crate) fn check(data: &[u8]) {
    let Some((which, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let option = &options()[usize::from(*which) % options().len()];
    let build = || Client::builder().base_urls("http://a.example").set(option.name(), text).build();
    let built = build();
    if let Err(error) = &built {
        let known =
            [Status::Option, Status::Config, Status::Url, Status::Duplicate, Status::Downgrade];
        let fits = known.contains(&error.status())
            || [Status::TlsMaterial, Status::Range, Status::Argument].contains(&error.status());
        assert!(fits, "{}: {error}", option.name());
        assert_eq!(build().map(drop).unwrap_err().to_string(), error.to_string());
    }
    let mut request = Request::new("GET", "/").unwrap();
    let set = request.set(option.name(), text);
    match option.is_for_requests() {
        // What a request takes a client takes; the settings together may still not go.
        true => {
            let refused = built.as_ref().is_err_and(|error| error.status() == Status::Option);
            assert_eq!(set.is_err(), refused, "{}", option.name());
        }
        false => assert_eq!(set.unwrap_err().status(), Status::Option),
    }
    if let Ok(statuses) = text.parse::<StatusSet>() {
        assert_eq!(statuses.to_string().parse::<StatusSet>(), Ok(statuses));
    }
    let _ = text.parse::<Timeout>();
    assert!(split_base_urls(text).iter().all(|url| !url.is_empty() && !url.contains(',')));
    let _ = anyhost::client::split_base_urls(text);
}
