//! Who we are to a server that asks: a chain of certificates and the key to the first of them.
//!
//! Read and matched when it is given, because a server that refuses it can only say "no", and in TLS
//! 1.3 says so after the request was sent. Not here: whom we trust (`tls`).

use super::tls::{TlsError, certificates};
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, pem::PemObject};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use std::fmt;
use std::sync::Arc;

/// A client certificate and its key.
#[derive(Clone)]
pub struct Identity(Arc<CertifiedKey>);

impl Identity {
    /// From PEM texts: the certificate, then those that lead from it to a root; and a private key in
    /// PKCS #8, PKCS #1 or SEC 1.
    ///
    /// # Errors
    /// Where one of them cannot be read, the key is encrypted or of a kind that there is no code for,
    /// or the two do not belong together.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let chain = certificates(&[chain])?;
        if key_is_encrypted(key) {
            return Err(TlsError("the private key is encrypted".into()));
        }
        // What is wrong with a key is told without a byte of it.
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|_| TlsError("no private key in the PEM text".into()))?;
        let certified = CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(
            |why| match why {
                rustls::Error::InconsistentKeys(_) => {
                    TlsError("the private key does not belong to the certificate".into())
                }
                rustls::Error::InvalidCertificate(_) => {
                    TlsError("the client certificate is unusable".into())
                }
                _ => TlsError("the private key is unusable".into()),
            },
        )?;
        Ok(Identity(Arc::new(certified)))
    }

    pub(super) fn resolver(&self) -> Arc<SingleCertAndKey> {
        Arc::new(SingleCertAndKey::from(self.0.clone()))
    }
}

fn key_is_encrypted(pem: &[u8]) -> bool {
    let text = String::from_utf8_lossy(pem);
    text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED")
}

/// Shows nothing of it.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(["a.test".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    #[test]
    fn a_pair_is_taken_and_shows_nothing() {
        let (cert, key) = pair();
        let identity = Identity::from_pem(cert.as_bytes(), key.as_bytes()).unwrap();
        assert_eq!(format!("{identity:?}"), "Identity");
    }

    #[test]
    fn what_cannot_serve_is_refused_with_words() {
        let ((cert, key), (_, other)) = (pair(), pair());
        let not_der = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let bad_key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        let locked = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
        for (cert, key, said) in [
            (&*cert, &*other, "the private key does not belong to the certificate"),
            (&cert, "hello", "no private key in the PEM text"),
            (&cert, &cert, "no private key in the PEM text"),
            (&cert, bad_key, "the private key is unusable"),
            (&cert, &locked, "the private key is encrypted"),
            ("hello", &key, "no certificate in the PEM text"),
            (&key, &key, "no certificate in the PEM text"),
            (not_der, &key, "the client certificate is unusable"),
        ] {
            let error = Identity::from_pem(cert.as_bytes(), key.as_bytes()).unwrap_err();
            assert_eq!(error.0, said);
        }
    }
}
