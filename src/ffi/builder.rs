//! A builder of clients.

use super::attempt::{Shown, anyhost_attempt};
use super::callback::{
    self, User, anyhost_event_cb, anyhost_free_cb, anyhost_judge_cb, anyhost_retry_cb,
};
use super::client::{Core, anyhost_client};
use super::error::anyhost_error;
use super::event::anyhost_event;
use super::handle::{self, Object, Opaque, Owned};
use super::loan::Loan;
use super::numbers::ANYHOST_PRIORITY_AUTO;
use super::response::anyhost_response;
use super::{Out, flag, guard, is_null, out_of_range, text};
use crate::{
    Advice, Attempt, Client, ClientBuilder, Endpoint, Error, Event, Proxy, Response, Result,
    Verdict,
};
use std::ffi::{c_char, c_void};
use std::ptr;

/// Settings on their way to a client.
///
/// A function that fails is remembered: anyhost_builder_build answers the first failure, so that only
/// it needs to be checked. One thread at a time.
pub struct anyhost_builder(Opaque);

impl Object for anyhost_builder {
    type Inside = Loan<ClientBuilder>;
    const TAG: &'static [u8; 8] = b"ahbuildr";
    const NAME: &'static str = "builder";
}
impl Owned for anyhost_builder {}

/// A new builder, with every setting at its default.
///
/// `*out` is yours, to be freed with anyhost_builder_free. ANYHOST_E_NULL if `out` is NULL. Any thread.
/// Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_builder_new(out: *mut *mut anyhost_builder) -> i32 {
    guard!(status, {
        let out = Out::new(out, ptr::null_mut(), "out")?;
        out.set(handle::new(Loan::new(
            Client::builder(),
            "the builder is spent: it has built, or is in use",
        )));
        Ok(())
    })
}

/// Frees a builder, spent or not. NULL does nothing. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_builder_free(builder: *mut anyhost_builder) {
    guard!(value or (), { handle::free(builder); Ok(()) })
}

/// Sets an option by name, as text: "250ms", "5s", "off"; anyhost_option_name lists them.
///
/// A `value` of NULL sets it back to its default. "base_urls" adds endpoints, every time it is set. The
/// texts are copied.
///
/// ANYHOST_E_OPTION for a name that there is not, or a value that it does not take; ANYHOST_E_URL for a
/// base URL that is none. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_builder_set(
    builder: *mut anyhost_builder,
    option: *const c_char,
    value: *const c_char,
) -> i32 {
    guard!(
        status,
        change(builder, |builder| {
            let option = text::read(option, "option")?;
            match text::read_if_any(value, "value")? {
                Some(value) => builder.set_option(option, value),
                None => builder.unset_option(option),
            }
        })
    )
}

/// Sets an option by name, as a number: durations in milliseconds, sizes in bytes, flags as 0 or 1.
///
/// ANYHOST_E_RANGE for a number below 0; ANYHOST_E_OPTION as anyhost_builder_set, and for a limit of 0:
/// no limit is the text "off". Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_builder_set_int(
    builder: *mut anyhost_builder,
    option: *const c_char,
    value: i64,
) -> i32 {
    guard!(
        status,
        change(builder, |builder| {
            builder.set_option(text::read(option, "option")?, &number(value)?)
        })
    )
}

/// Sets the options of a preset: "default", "datatug", "agoda", "breaker", "resilient".
///
/// What is set after it takes its place. The text is copied.
///
/// ANYHOST_E_OPTION for a name that there is not. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_builder_preset(
    builder: *mut anyhost_builder,
    name: *const c_char,
) -> i32 {
    guard!(status, change(builder, |builder| builder.set_preset(text::read(name, "name")?)))
}

/// Adds an endpoint.
///
/// `url` is its base URL; user info in it is Basic authentication for this endpoint alone. `weight` is
/// its share where endpoints are drawn by weight, 1 to 1000; 0 = the default. `priority` is its place
/// in the order, lower numbers first; ANYHOST_PRIORITY_AUTO = as the option selection says, which is
/// its place in the list. `label` is what it is called in attempts, events and errors; NULL = its
/// origin. The texts are copied.
///
/// ANYHOST_E_URL for a URL that is none, ANYHOST_E_RANGE for a weight above 1000. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_builder_add_endpoint(
    builder: *mut anyhost_builder,
    url: *const c_char,
    weight: u32,
    priority: u32,
    label: *const c_char,
) -> i32 {
    guard!(
        status,
        change(builder, |builder| {
            builder.add_endpoint(endpoint(url, weight, priority, label)?);
            Ok(())
        })
    )
}

/// Adds a proxy. With at least one, every request goes through one of them, drawn by weight.
///
/// `url` has the scheme http, https, socks4, socks4a, socks5 or socks5h, with user info where the proxy
/// asks who we are; or it is the word `direct`, which stands for going straight to the endpoint: nothing
/// else ever does. `weight` is its share, 1 to 1000; 0 = the default. `label` is what it is called in
/// attempts, events and errors; NULL = scheme://host:port. The texts are copied.
///
/// A client with proxies and no endpoints takes whole URLs in the place of paths.
///
/// ANYHOST_E_URL for what is no proxy, ANYHOST_E_RANGE for a weight above 1000. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_builder_add_proxy(
    builder: *mut anyhost_builder,
    url: *const c_char,
    weight: u32,
    label: *const c_char,
) -> i32 {
    guard!(
        status,
        change(builder, |builder| {
            builder.add_proxy(proxy(url, weight, label)?);
            Ok(())
        })
    )
}

/// Adds a header that every request carries, unless the request has its own of that name.
///
/// With a `secret` of 1 no text will ever show its value; 0 = it may be shown. Authorization, Cookie,
/// Proxy-Authorization, X-Api-Key, Api-Key and X-Auth-Token are secrets anyway. The texts are copied.
///
/// ANYHOST_E_ARGUMENT for what no header can be, and for Content-Length, Transfer-Encoding and
/// Connection; ANYHOST_E_RANGE for another number than 0 and 1. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_builder_add_header(
    builder: *mut anyhost_builder,
    name: *const c_char,
    value: *const c_char,
    secret: i32,
) -> i32 {
    guard!(
        status,
        change(builder, |builder| {
            let (name, value) = (text::read(name, "name")?, text::read(value, "value")?);
            builder.add_header(name, value.as_bytes(), flag(secret, "secret")?)
        })
    )
}

/// Adds a header that every request to one endpoint carries, and no request to another.
///
/// `key` is the label of an endpoint added before, or its base URL as it was given. `secret` and the
/// rest as anyhost_builder_add_header; the header takes the place of the client's of that name.
///
/// ANYHOST_E_NOT_FOUND where no endpoint has this key; else as anyhost_builder_add_header. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_builder_endpoint_header(
    builder: *mut anyhost_builder,
    key: *const c_char,
    name: *const c_char,
    value: *const c_char,
    secret: i32,
) -> i32 {
    guard!(
        status,
        change(builder, |builder| {
            let key = text::read(key, "key")?;
            let (name, value) = (text::read(name, "name")?, text::read(value, "value")?);
            let secret = flag(secret, "secret")?;
            builder.find_endpoint(key)?.add_header(name, value.as_bytes(), secret)
        })
    )
}

/// Sets the name that the certificate of one endpoint is for, in the place of its URL's host.
///
/// `key` is the label of an endpoint added before, or its base URL as it was given. `name` is a DNS name,
/// which the server is told (SNI), or an IP address, which it is not. The header Host stays that of the
/// URL. The texts are copied.
///
/// ANYHOST_E_NOT_FOUND where no endpoint has this key, ANYHOST_E_ARGUMENT for what no certificate can be
/// for. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_builder_endpoint_server_name(
    builder: *mut anyhost_builder,
    key: *const c_char,
    name: *const c_char,
) -> i32 {
    guard!(
        status,
        change(builder, |builder| {
            let (key, name) = (text::read(key, "key")?, text::read(name, "name")?);
            builder.find_endpoint(key)?.set_server_name(name)
        })
    )
}

/// Adds certificates to trust beside those of the option tls_roots: `len` bytes of PEM, copied.
///
/// With tls_roots at "none" they are the only ones. ANYHOST_E_NULL if `pem` is NULL and `len` is not 0.
/// What is no certificate is ANYHOST_E_TLS_MATERIAL from anyhost_builder_build. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_builder_add_root_pem(
    builder: *mut anyhost_builder,
    pem: *const c_void,
    len: usize,
) -> i32 {
    guard!(
        status,
        change(builder, |builder| {
            builder.trust(text::bytes(pem, len, "pem")?.to_vec());
            Ok(())
        })
    )
}

/// Sets the certificate to show to servers that ask for one, in the place of an earlier one: PEM, copied.
///
/// `cert` holds the client's own certificate first and then those that lead from it to a root; `key` its
/// private key, not encrypted. It is shown to every endpoint that asks.
///
/// ANYHOST_E_NULL if `cert` or `key` is NULL and its length is not 0; ANYHOST_E_TLS_MATERIAL where one
/// cannot be read, or the key is not that of the certificate. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_builder_set_client_cert_pem(
    builder: *mut anyhost_builder,
    cert: *const c_void,
    cert_len: usize,
    key: *const c_void,
    key_len: usize,
) -> i32 {
    guard!(
        status,
        change(builder, |builder| {
            let cert = text::bytes(cert, cert_len, "cert")?;
            builder.identify(cert, text::bytes(key, key_len, "key")?)
        })
    )
}

/// Has `on_event` called for everything that happens in the client, in the place of an earlier one.
///
/// It runs on the thread whose call caused the event, so on several at once if several make calls.
/// `user` is passed to it, and to `free_user` (unless that is NULL) when it is not needed any more:
/// exactly once, also if this function fails, on whichever thread lets go of the client last.
///
/// ANYHOST_E_NULL if `on_event` is NULL. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_builder_on_event(
    builder: *mut anyhost_builder,
    on_event: anyhost_event_cb,
    user: *mut c_void,
    free_user: anyhost_free_cb,
) -> i32 {
    guard!(status, {
        let user = User::new(user, free_user);
        change(builder, |builder| {
            let on_event = on_event.ok_or_else(|| is_null("on_event"))?;
            builder.callbacks().on_event = Some(Box::new(observer(on_event, user)));
            Ok(())
        })
    })
}

/// Has `on_judge` asked about every answer before it counts, in the place of an earlier one.
///
/// It says one of ANYHOST_VERDICT_*: whether the answer is good, whatever its status; the endpoint's
/// fault, to be had elsewhere if the request may go out again; or the caller's own. The last two are
/// ANYHOST_E_REJECTED where the call ends with them. It runs on the thread of the call, and is not asked
/// about redirects that are followed. `user` and `free_user` as in anyhost_builder_on_event.
///
/// ANYHOST_E_NULL if `on_judge` is NULL. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_builder_on_judge(
    builder: *mut anyhost_builder,
    on_judge: anyhost_judge_cb,
    user: *mut c_void,
    free_user: anyhost_free_cb,
) -> i32 {
    guard!(status, {
        let user = User::new(user, free_user);
        change(builder, |builder| {
            let on_judge = on_judge.ok_or_else(|| is_null("on_judge"))?;
            builder.callbacks().judge = Some(Box::new(judge(on_judge, user)));
            Ok(())
        })
    })
}

/// Has `on_retry` asked after every attempt that was not good, in the place of an earlier one.
///
/// It says one of ANYHOST_RETRY_*. ANYHOST_RETRY_AGAIN moves on where the client would stop, but only with
/// a request that may go out again (option resend), and within attempts, endpoints and deadline. It runs
/// on the thread of the call. `user` and `free_user` as in anyhost_builder_on_event.
///
/// ANYHOST_E_NULL if `on_retry` is NULL. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_builder_on_retry(
    builder: *mut anyhost_builder,
    on_retry: anyhost_retry_cb,
    user: *mut c_void,
    free_user: anyhost_free_cb,
) -> i32 {
    guard!(status, {
        let user = User::new(user, free_user);
        change(builder, |builder| {
            let on_retry = on_retry.ok_or_else(|| is_null("on_retry"))?;
            builder.callbacks().retry = Some(Box::new(adviser(on_retry, user)));
            Ok(())
        })
    })
}

/// Makes the client.
///
/// The builder is spent then, also on failure: everything else answers ANYHOST_E_STATE, and it is still
/// yours to free. `*out` is yours, to be freed with anyhost_client_free.
///
/// The first failure of an earlier function; ANYHOST_E_CONFIG without an endpoint, ANYHOST_E_DUPLICATE
/// for the same endpoint or label twice, ANYHOST_E_DOWNGRADE for https beside http,
/// ANYHOST_E_TLS_MATERIAL for a certificate that cannot be used, or none to trust. Nothing is connected
/// yet. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_builder_build(
    builder: *mut anyhost_builder,
    out: *mut *mut anyhost_client,
    err: *mut *mut anyhost_error,
) -> i32 {
    guard!(status err, {
        let out = Out::new(out, ptr::null_mut(), "out")?;
        let builder = handle::keep(builder)?.take()?;
        out.set(Core::handle(builder.build()?));
        Ok(())
    })
}

/// The most an endpoint can weigh.
const WEIGHT_MOST: u32 = 1000;

/// An endpoint as C describes it.
///
/// # Safety
///
/// Each text is NULL or NUL-ended.
pub(super) unsafe fn endpoint(
    url: *const c_char,
    weight: u32,
    priority: u32,
    label: *const c_char,
) -> Result<Endpoint> {
    // SAFETY: as the caller promises.
    let (url, label) = unsafe { (text::read(url, "url")?, text::read_if_any(label, "label")?) };
    let mut endpoint = Endpoint::new(url)?;
    if weight > WEIGHT_MOST {
        return Err(out_of_range("weight", "is at most 1000"));
    }
    if weight > 0 {
        endpoint = endpoint.weight(weight);
    }
    if priority != ANYHOST_PRIORITY_AUTO {
        endpoint = endpoint.priority(priority);
    }
    Ok(match label {
        Some(label) => endpoint.label(label),
        None => endpoint,
    })
}

/// A proxy as C describes it.
///
/// # Safety
///
/// `url` and `label` are NULL or C strings.
pub(super) unsafe fn proxy(url: *const c_char, weight: u32, label: *const c_char) -> Result<Proxy> {
    // SAFETY: as the caller promises.
    let (url, label) = unsafe { (text::read(url, "url")?, text::read_if_any(label, "label")?) };
    let mut proxy = Proxy::new(url)?;
    if weight > WEIGHT_MOST {
        return Err(out_of_range("weight", "is at most 1000"));
    }
    if weight > 0 {
        proxy = proxy.weight(weight);
    }
    Ok(match label {
        Some(label) => proxy.label(label),
        None => proxy,
    })
}

/// Changes a builder; a mistake is answered, and remembered for `build`.
///
/// # Safety
///
/// `builder` is NULL or a handle.
unsafe fn change(
    builder: *mut anyhost_builder,
    change: impl FnOnce(&mut ClientBuilder) -> Result<()>,
) -> Result<()> {
    // SAFETY: as the caller promises.
    let builder = unsafe { handle::keep(builder)? };
    builder.with(|builder| {
        change(builder).map_err(|mistake| {
            let status = mistake.status();
            builder.remember(mistake);
            // The number is all that gets out of a setter.
            Error::new(status, "")
        })
    })?
}

/// What calls C for each event.
fn observer(
    on_event: unsafe extern "C-unwind" fn(*mut c_void, *const anyhost_event),
    user: User,
) -> impl Fn(&Event<'_>) + Send + Sync {
    move |event| {
        anyhost_event::lend(event, |event| {
            // SAFETY: C gave the two together, to be called so.
            callback::enter(|| unsafe { on_event(user.pointer(), event) });
        });
    }
}

/// What asks C about each answer. A number that is no verdict is the default.
fn judge(
    on_judge: unsafe extern "C-unwind" fn(*mut c_void, *const anyhost_response) -> i32,
    user: User,
) -> impl Fn(&mut Response) -> Verdict + Send + Sync {
    move |answer| {
        let verdict = anyhost_response::lend(answer, |answer| {
            // SAFETY: C gave the two together, to be called so.
            callback::enter(|| unsafe { on_judge(user.pointer(), answer) })
        });
        let known = [Verdict::Accept, Verdict::Fault, Verdict::Caller];
        known.into_iter().find(|it| *it as i32 == verdict).unwrap_or_default()
    }
}

/// What asks C after each attempt. A number that is no advice is the default.
fn adviser(
    on_retry: unsafe extern "C-unwind" fn(*mut c_void, *const anyhost_attempt) -> i32,
    user: User,
) -> impl Fn(&Attempt) -> Advice + Send + Sync {
    move |attempt| {
        let shown = Shown::new(attempt);
        // SAFETY: C gave the two together, to be called so.
        let advice = callback::enter(|| unsafe { on_retry(user.pointer(), shown.borrowed()) });
        let known = [Advice::Again, Advice::Stop];
        known.into_iter().find(|it| *it as i32 == advice).unwrap_or_default()
    }
}

/// A number as the text of an option.
pub(super) fn number(value: i64) -> Result<String> {
    if value < 0 {
        return Err(out_of_range("value", &format!("is {value}, and may not be below 0")));
    }
    Ok(value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;

    /// A builder of C, and what its setters answer.
    fn with_builder(use_it: impl FnOnce(*mut anyhost_builder)) {
        let mut builder = ptr::null_mut();
        // SAFETY: the handle is alive until the free at the end.
        unsafe {
            assert_eq!(anyhost_builder_new(&mut builder), 0);
            use_it(builder);
            anyhost_builder_free(builder);
        }
    }

    /// What `build` answers, and the option its error names.
    unsafe fn build(builder: *mut anyhost_builder) -> (i32, Option<String>) {
        let (mut client, mut err) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the caller's handle is alive; the others are freed when they have been read.
        unsafe {
            let status = anyhost_builder_build(builder, &mut client, &mut err);
            let option = crate::ffi::error::anyhost_error_option(err);
            let option = text::read_if_any(option, "option").unwrap().map(str::to_owned);
            crate::ffi::client::anyhost_client_free(client);
            crate::ffi::error::anyhost_error_free(err);
            (status, option)
        }
    }

    #[test]
    fn build_answers_the_first_mistake() {
        with_builder(|builder| {
            // SAFETY: the handle is alive, and texts are literals.
            unsafe {
                let range = Status::Range.code();
                let url = c"http://127.0.0.1:9";
                assert_eq!(anyhost_builder_set(builder, c"deadline".as_ptr(), ptr::null()), 0);
                assert_eq!(anyhost_builder_set_int(builder, c"deadline".as_ptr(), -1), range);
                let option = Status::Option.code();
                assert_eq!(anyhost_builder_set_int(builder, c"hold".as_ptr(), 1), option);
                let label = ptr::null();
                assert_eq!(
                    anyhost_builder_add_endpoint(builder, url.as_ptr(), 1001, 0, label),
                    range
                );
                assert_eq!(build(builder), (range, Some("value".to_owned())));
                assert_eq!(build(builder), (Status::State.code(), None));
                assert_eq!(
                    anyhost_builder_set(builder, c"deadline".as_ptr(), ptr::null()),
                    Status::State.code()
                );
            }
        });
    }

    #[test]
    fn a_null_is_remembered_too() {
        with_builder(|builder| {
            // SAFETY: the handle is alive, and NULL is allowed to be tried.
            unsafe {
                assert_eq!(anyhost_builder_set(builder, ptr::null(), c"1".as_ptr()), 1);
                assert_eq!(build(builder), (1, Some("option".to_owned())));
            }
        });
    }

    #[test]
    fn an_endpoint_has_its_label_and_its_url_as_keys() {
        let mut builder = Client::builder();
        builder
            .set_option("base_urls", "https://u:p@a.example/v1/, https://A.example/v2, https://b")
            .unwrap();
        builder.add_endpoint(Endpoint::new("https://c").unwrap().label("third"));
        for (key, label) in [
            ("https://u:p@a.example/v1/", "https://a.example/v1"),
            ("https://a.example/v1", "https://a.example/v1"),
            ("https://A.example/v2", "https://a.example/v2"),
            ("https://b", "https://b"),
            ("https://c", "https://c"),
            ("third", "https://c"),
        ] {
            let endpoint = builder.find_endpoint(key).unwrap_or_else(|_| panic!("{key}"));
            assert_eq!(endpoint.base.to_string(), label, "{key}");
        }
        for key in ["https://a.example", "c", "", "fourth"] {
            let error = builder.find_endpoint(key).unwrap_err();
            assert_eq!(error.status(), Status::NotFound, "{key}");
        }
    }

    #[test]
    fn a_number_is_a_text_of_digits() {
        assert_eq!(number(0).unwrap(), "0");
        assert_eq!(number(i64::MAX).unwrap(), i64::MAX.to_string());
        for wild in [-1, i64::MIN] {
            assert_eq!(number(wild).unwrap_err().status(), Status::Range);
        }
    }
}
