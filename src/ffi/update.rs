//! Lists of endpoints and of proxies that take the place of a client's.

use super::builder::{endpoint, proxy};
use super::handle::{self, Object, Opaque, Owned};
use super::loan::Loan;
use super::{Out, flag, guard, text};
use crate::{Endpoint, Error, Proxy, Result};
use std::ffi::c_char;
use std::ptr;

/// Lists of endpoints and of proxies, to be put in the place of a client's by anyhost_client_apply. A list that
/// names nobody leaves the client's as it is.
///
/// A function that fails is remembered: anyhost_client_apply answers the first failure, so that only it
/// needs to be checked. One thread at a time.
pub struct anyhost_update(Opaque);

impl Object for anyhost_update {
    type Inside = Loan<Listed>;
    const TAG: &'static [u8; 8] = b"ahupdate";
    const NAME: &'static str = "update";
}
impl Owned for anyhost_update {}

/// A new update, which names nobody yet.
///
/// `*out` is yours, to be freed with anyhost_update_free. ANYHOST_E_NULL if `out` is NULL. Any thread.
/// Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_update_new(out: *mut *mut anyhost_update) -> i32 {
    guard!(status, {
        let out = Out::new(out, ptr::null_mut(), "out")?;
        out.set(handle::new(Loan::new(Listed::default(), "the update is in use")));
        Ok(())
    })
}

/// Frees an update, applied or not. NULL does nothing. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_update_free(update: *mut anyhost_update) {
    guard!(value or (), { handle::free(update); Ok(()) })
}

/// Adds an endpoint to the list, one that the client has or a new one.
///
/// All as in anyhost_builder_add_endpoint, but for a `weight` of 0: an endpoint that the client has
/// keeps its maximum weight. The texts are copied.
///
/// ANYHOST_E_URL for a URL that is none, ANYHOST_E_RANGE for a weight above 1000. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_update_add_endpoint(
    update: *mut anyhost_update,
    url: *const c_char,
    weight: u32,
    priority: u32,
    label: *const c_char,
) -> i32 {
    guard!(
        status,
        change(update, |listed| {
            listed.endpoints.push(endpoint(url, weight, priority, label)?);
            Ok(())
        })
    )
}

/// Adds a proxy to the list, one that the client has or a new one.
///
/// All as in anyhost_builder_add_proxy, but for a `weight` of 0: a proxy that the client has keeps its
/// maximum weight. One that stays with other credentials may be asked again if it had refused the old
/// ones. The texts are copied.
///
/// ANYHOST_E_URL for what is no proxy, ANYHOST_E_RANGE for a weight above 1000. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_update_add_proxy(
    update: *mut anyhost_update,
    url: *const c_char,
    weight: u32,
    label: *const c_char,
) -> i32 {
    guard!(
        status,
        change(update, |listed| {
            listed.proxies.push(proxy(url, weight, label)?);
            Ok(())
        })
    )
}

/// Adds a header that every request to one endpoint of the list carries, and no request to another.
///
/// `key` is the label of an endpoint of this list, or its base URL as it was given. Headers of an endpoint
/// are those of the list: what the client's builder gave it is not kept. The rest as
/// anyhost_builder_endpoint_header. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_update_endpoint_header(
    update: *mut anyhost_update,
    key: *const c_char,
    name: *const c_char,
    value: *const c_char,
    secret: i32,
) -> i32 {
    guard!(
        status,
        change(update, |listed| {
            let key = text::read(key, "key")?;
            let (name, value) = (text::read(name, "name")?, text::read(value, "value")?);
            let secret = flag(secret, "secret")?;
            listed.find(key)?.add_header(name, value.as_bytes(), secret)
        })
    )
}

/// Sets the name that the certificate of one endpoint of the list is for.
///
/// `key` as in anyhost_update_endpoint_header; the rest as anyhost_builder_endpoint_server_name. Since
/// 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_update_endpoint_server_name(
    update: *mut anyhost_update,
    key: *const c_char,
    name: *const c_char,
) -> i32 {
    guard!(
        status,
        change(update, |listed| {
            let key = text::read(key, "key")?;
            let name = text::read(name, "name")?;
            listed.find(key)?.set_server_name(name)
        })
    )
}

/// The inside of an update: the list, and the first mistake in making it.
#[derive(Default)]
pub(super) struct Listed {
    endpoints: Vec<Endpoint>,
    proxies: Vec<Proxy>,
    mistake: Option<Error>,
}

impl Listed {
    fn find(&mut self, key: &str) -> Result<&mut Endpoint> {
        Endpoint::find_in(&mut self.endpoints, key)
    }

    /// The lists, if no mistake was made in them. They may be asked for more than once.
    pub(super) fn checked(&self) -> Result<(Vec<Endpoint>, Vec<Proxy>)> {
        match &self.mistake {
            None => Ok((self.endpoints.clone(), self.proxies.clone())),
            Some(mistake) => Err(again(mistake)),
        }
    }
}

/// The same mistake once more.
fn again(mistake: &Error) -> Error {
    match mistake.option() {
        Some(option) => Error::of_option(mistake.status(), option, mistake.to_string()),
        None => Error::new(mistake.status(), mistake.to_string()),
    }
}

/// Changes an update; a mistake is answered, and remembered for `apply`.
///
/// # Safety
///
/// `update` is NULL or a handle.
unsafe fn change(
    update: *mut anyhost_update,
    change: impl FnOnce(&mut Listed) -> Result<()>,
) -> Result<()> {
    // SAFETY: as the caller promises.
    unsafe { handle::keep(update)? }.with(|listed| {
        change(listed).map_err(|mistake| {
            let status = mistake.status();
            listed.mistake.get_or_insert(mistake);
            // The number is all that gets out of a setter.
            Error::new(status, "")
        })
    })?
}
