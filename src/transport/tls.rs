//! The one TLS configuration of a transport: which roots are trusted, which provider does the maths.
//!
//! One `ClientConfig` for all endpoints: roots are parsed once and sessions resume across
//! connections of whatever endpoint. The provider (ring) is named here and not taken from the
//! process, because a library must not depend on what its host installed first.
//!
//! Not here: who we are to a server that asks (`identity`), the handshake and the records (`session`).

use super::identity::Identity;
use super::lookup::bare;
use super::unverified::Unverified;
use rustls::client::WantsClientCert;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, TrustAnchor, pem::PemObject};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use std::fmt;
use std::sync::Arc;

/// Whom to trust, and who we are.
#[derive(Debug, Clone, Default)]
pub struct TlsSettings {
    /// The base of trust.
    pub roots: Roots,
    /// Certificates trusted in addition, each text with one or more in PEM.
    pub extra_roots_pem: Vec<Vec<u8>>,
    /// Shown to servers that ask for a certificate.
    pub identity: Option<Identity>,
    /// Take any certificate of any server. Roots are read all the same, so that a mistake in them is
    /// found.
    pub unverified: bool,
}

/// The base of trust.
#[derive(Debug, Clone, Default)]
pub enum Roots {
    /// What the operating system trusts, asked the way each system wants to be asked.
    #[default]
    System,
    /// Mozilla's list, as it was when this library was built.
    Bundled,
    /// Only the certificates in these PEM texts.
    Only(Vec<Vec<u8>>),
}

/// Why TLS cannot be set up: a certificate that is not readable, or nobody to trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsError(pub String);

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}

/// Builds the configuration that all connections share.
pub(super) fn client_config(settings: &TlsSettings) -> Result<Arc<ClientConfig>, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let mut extra = certificates(&settings.extra_roots_pem)?;
    if let Roots::Only(pem) = &settings.roots {
        extra.extend(certificates(pem)?);
    }
    let config = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&TLS13, &TLS12])
        .map_err(|e| TlsError(format!("the provider lacks a TLS version: {e}")))?;
    let config = match &settings.roots {
        _ if settings.unverified => {
            config.dangerous().with_custom_certificate_verifier(Arc::new(Unverified(provider)))
        }
        Roots::System => trust_system(config, extra, provider)?,
        Roots::Bundled => trust(config, webpki_roots::TLS_SERVER_ROOTS.to_vec(), extra)?,
        Roots::Only(_) => trust(config, Vec::new(), extra)?,
    };
    Ok(Arc::new(match &settings.identity {
        Some(identity) => config.with_client_cert_resolver(identity.resolver()),
        None => config.with_no_client_auth(),
    }))
}

/// Whether this is a name or an address that a certificate can be for.
pub fn is_server_name(name: &str) -> bool {
    server_name(name).is_some()
}

/// What to ask a certificate for, from a host with or without brackets.
pub(super) fn server_name(host: &str) -> Option<ServerName<'static>> {
    ServerName::try_from(bare(host).to_owned()).ok()
}

/// A configuration before it is said whom to trust.
type Undecided = ConfigBuilder<ClientConfig, WantsVerifier>;
/// And after that.
type Decided = ConfigBuilder<ClientConfig, WantsClientCert>;

/// Trusts these roots and no others.
fn trust(
    config: Undecided,
    roots: Vec<TrustAnchor<'static>>,
    extra: Vec<CertificateDer<'static>>,
) -> Result<Decided, TlsError> {
    let mut store = RootCertStore { roots };
    for root in extra {
        store.add(root).map_err(|e| TlsError(format!("a root certificate is unusable: {e}")))?;
    }
    if store.is_empty() {
        return Err(TlsError("no usable roots: nobody would be trusted".into()));
    }
    // Not by a verifier of our own making: its builder brings the reading of revocation lists along,
    // which nobody gives us, and which is 30 KiB of the shared library.
    Ok(config.with_root_certificates(store))
}

/// Trusts whom the system trusts, by the files in which systems without a verifier of their own keep that.
#[cfg(not(any(windows, target_vendor = "apple", target_os = "android")))]
fn trust_system(
    config: Undecided,
    extra: Vec<CertificateDer<'static>>,
    _: Arc<CryptoProvider>,
) -> Result<Decided, TlsError> {
    let found = rustls_native_certs::load_native_certs();
    let mut store = RootCertStore::empty();
    // Among many, some that webpki cannot read are of no matter.
    store.add_parsable_certificates(found.certs);
    if let (true, true, Some(why)) = (store.is_empty(), extra.is_empty(), found.errors.first()) {
        return Err(TlsError(format!("no usable roots: {why}")));
    }
    trust(config, store.roots, extra)
}

/// Leaves it to the verifier of the system.
#[cfg(any(windows, target_vendor = "apple", target_os = "android"))]
fn trust_system(
    config: Undecided,
    extra: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
) -> Result<Decided, TlsError> {
    let verifier = rustls_platform_verifier::Verifier::new_with_extra_roots(extra, provider)
        .map_err(|e| TlsError(format!("no usable roots: {e}")))?;
    // "Dangerous" is any verifier handed over ready.
    Ok(config.dangerous().with_custom_certificate_verifier(Arc::new(verifier)))
}

/// The certificates in some PEM texts. A text without one is an error, not an empty list: whoever
/// names a file of roots means to trust somebody.
pub(super) fn certificates(
    texts: &[impl AsRef<[u8]>],
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let mut all = Vec::new();
    for text in texts {
        let before = all.len();
        for certificate in CertificateDer::pem_slice_iter(text.as_ref()) {
            all.push(certificate.map_err(|e| TlsError(format!("not readable as PEM: {e}")))?);
        }
        if all.len() == before {
            return Err(TlsError("no certificate in the PEM text".into()));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(settings: TlsSettings) -> String {
        client_config(&settings).unwrap_err().0
    }

    fn only(texts: &[&str]) -> TlsSettings {
        let texts = texts.iter().map(|t| t.as_bytes().to_vec()).collect();
        TlsSettings { roots: Roots::Only(texts), ..TlsSettings::default() }
    }

    #[test]
    fn unusable_material_is_refused_with_words() {
        assert_eq!(error(only(&["hello"])), "no certificate in the PEM text");
        let not_base64 = "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n";
        assert!(error(only(&[not_base64])).starts_with("not readable as PEM"));
        let not_der = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(error(only(&[not_der])).starts_with("a root certificate is unusable"));
        assert!(error(only(&[])).starts_with("no usable roots"));
        // What is given is read, also where nobody needs it.
        let unverified = |settings| TlsSettings { unverified: true, ..settings };
        assert_eq!(error(unverified(only(&["hello"]))), "no certificate in the PEM text");
        assert!(client_config(&unverified(only(&[]))).is_ok());
    }

    #[test]
    fn a_list_of_roots_is_at_hand() {
        let bundled = TlsSettings { roots: Roots::Bundled, ..TlsSettings::default() };
        assert!(client_config(&bundled).is_ok());
        assert!(webpki_roots::TLS_SERVER_ROOTS.len() > 50);
    }

    #[test]
    fn names_and_addresses_can_be_on_a_certificate() {
        for name in ["a.example", "localhost", "127.0.0.1", "::1", "[::1]", "xn--bcher-kva.example"]
        {
            assert!(is_server_name(name), "{name}");
        }
        for name in ["", "a b", "a.example:443", "https://a.example", "bücher.example", "*.a"] {
            assert!(!is_server_name(name), "{name}");
        }
    }

    #[test]
    fn own_roots_suffice() {
        let pem = rcgen::generate_simple_self_signed(["a.test".to_owned()]).unwrap().cert.pem();
        assert!(client_config(&only(&[&pem])).is_ok());
        let extra =
            TlsSettings { extra_roots_pem: vec![pem.into_bytes()], ..TlsSettings::default() };
        // A machine without any system roots still trusts the extra ones.
        assert!(client_config(&extra).is_ok());
    }
}
