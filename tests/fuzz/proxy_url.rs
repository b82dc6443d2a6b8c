//! Proxy URLs: what is taken can be parsed again, and no text shows the credentials.

use anyhost::transport::ProxyUrl;

/// Two secrets. Whatever is shown of a proxy is the same with either.
const SECRETS: [&str; 2] = ["s3cr3t", "0th3r1"];

pub(crate) fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let shown = shown(text);
    if let Some(other) = with_other_secret(text) {
        assert_eq!(shown, self::shown(&other), "{text}");
    }
}

/// The same text with the other secret, where the one is before the last `@`.
fn with_other_secret(text: &str) -> Option<String> {
    let [one, two] = SECRETS;
    let (before, after) = text.rsplit_once('@').filter(|(before, _)| before.contains(one))?;
    // What can be a scheme is no user info.
    let scheme = before.split_once("://").map_or("", |(scheme, _)| scheme);
    let named = scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let hidden = !named || !scheme.contains(one);
    hidden.then(|| format!("{}@{after}", before.replace(one, two)))
}

/// Everything that is shown of a proxy.
fn shown(text: &str) -> String {
    let proxy = match ProxyUrl::parse(text) {
        Ok(proxy) => proxy,
        Err(why) => return why,
    };
    assert!(!proxy.host().is_empty() && proxy.port() > 0);
    let host = match proxy.host().contains(':') {
        true => format!("[{}]", proxy.host()),
        false => proxy.host().to_owned(),
    };
    let again = format!("{}://{host}:{}", proxy.scheme().name(), proxy.port());
    let again = ProxyUrl::parse(&again).expect("what it says of itself");
    assert_eq!((again.scheme(), again.host()), (proxy.scheme(), proxy.host()));
    assert_eq!((again.port(), again.has_credentials()), (proxy.port(), false));
    format!("{proxy} {proxy:?}")
}
