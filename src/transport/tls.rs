//! The one TLS configuration of a transport: which roots are trusted, which provider does the maths.
//!
//! One `ClientConfig` for all endpoints: roots are parsed once and sessions resume across
//! connections of whatever endpoint. The provider (ring) is named here and not taken from the
//! process, because a library must not depend on what its host installed first.
//!
//! Not here: the handshake and the records (`session`).

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use std::fmt;
use std::sync::Arc;

/// Whom to trust.
#[derive(Debug, Clone, Default)]
pub struct TlsSettings {
    /// The base of trust.
    pub roots: Roots,
    /// Certificates trusted in addition, each text with one or more in PEM.
    pub extra_roots_pem: Vec<Vec<u8>>,
}

/// The base of trust.
#[derive(Debug, Clone, Default)]
pub enum Roots {
    /// What the operating system trusts, asked the way each system wants to be asked.
    #[default]
    System,
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
    let verifier: Arc<dyn ServerCertVerifier> = match &settings.roots {
        Roots::System => Arc::new(
            Verifier::new_with_extra_roots(extra, provider.clone())
                .map_err(|e| TlsError(format!("no usable roots: {e}")))?,
        ),
        Roots::Only(pem) => {
            extra.extend(certificates(pem)?);
            only(extra, provider.clone())?
        }
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13, &TLS12])
        .map_err(|e| TlsError(format!("the provider lacks a TLS version: {e}")))?
        // "Dangerous" is any verifier handed over ready; this one does verify.
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn only(
    roots: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, TlsError> {
    let mut store = RootCertStore::empty();
    for root in roots {
        store.add(root).map_err(|e| TlsError(format!("a root certificate is unusable: {e}")))?;
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider)
        .build()
        .map_err(|e| TlsError(format!("no usable roots: {e}")))
}

/// The certificates in some PEM texts. A text without one is an error, not an empty list: whoever
/// names a file of roots means to trust somebody.
fn certificates(texts: &[Vec<u8>]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let mut all = Vec::new();
    for text in texts {
        let before = all.len();
        for certificate in CertificateDer::pem_slice_iter(text) {
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
        TlsSettings { roots: Roots::Only(texts), extra_roots_pem: vec![] }
    }

    #[test]
    fn unusable_material_is_refused_with_words() {
        assert_eq!(error(only(&["hello"])), "no certificate in the PEM text");
        let not_base64 = "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n";
        assert!(error(only(&[not_base64])).starts_with("not readable as PEM"));
        let not_der = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(error(only(&[not_der])).starts_with("a root certificate is unusable"));
        assert!(error(only(&[])).starts_with("no usable roots"));
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
