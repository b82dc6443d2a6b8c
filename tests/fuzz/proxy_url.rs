//! Proxy URLs: what is taken can be parsed again, and no text shows the credentials.

use anyhost::transport::ProxyUrl;

const SECRET: &str = "s3cr3t";

pub(crate) fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // What can be a scheme is no user info.
    let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
    let named = scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
        && scheme.contains(SECRET);
    let secret = text.split_once('@').is_some_and(|(_, rest)| !rest.contains(SECRET)) && !named;
    match ProxyUrl::parse(text) {
        Ok(proxy) => {
            assert!(!secret || !format!("{proxy:?}").contains(SECRET), "{proxy:?}");
            assert!(!proxy.host().is_empty() && proxy.port() > 0);
            let host = match proxy.host().contains(':') {
                true => format!("[{}]", proxy.host()),
                false => proxy.host().to_owned(),
            };
            let again = format!("{}://{host}:{}", proxy.scheme().name(), proxy.port());
            let again = ProxyUrl::parse(&again).expect("what it says of itself");
            assert_eq!((again.scheme(), again.host()), (proxy.scheme(), proxy.host()));
            assert_eq!((again.port(), again.has_credentials()), (proxy.port(), false));
        }
        Err(why) => assert!(!secret || !why.contains(SECRET), "{why}"),
    }
}
