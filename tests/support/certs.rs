//! A certificate authority made when the test runs, and the server certificates it signs.
//!
//! Made and not stored: a stored certificate expires, and its private key lies in the tree.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS12;
use rustls::{
    ClientConfig, DEFAULT_VERSIONS, RootCertStore, ServerConfig, SupportedProtocolVersion,
};

/// A CA. Each has a name and a key of its own, so a second one is "another issuer".
pub struct Authority {
    der: CertificateDer<'static>,
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub fn new() -> Authority {
        static MADE: AtomicUsize = AtomicUsize::new(1);
        let mut params = CertificateParams::default();
        let name = format!("anyhost test CA {}", MADE.fetch_add(1, SeqCst));
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        let own = params.self_signed(&key).expect("a certificate");
        Authority { der: own.der().clone(), pem: own.pem(), issuer: Issuer::new(params, key) }
    }

    /// What a client has to trust.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// A server that is who it claims to be: localhost, 127.0.0.1 or [::1].
    pub fn server(&self) -> Arc<ServerConfig> {
        self.server_named(&["localhost", "127.0.0.1", "::1"])
    }

    /// A server with a certificate for these names or addresses, and no others.
    pub fn server_named(&self, names: &[&str]) -> Arc<ServerConfig> {
        self.sign(leaf(names))
    }

    /// The same, speaking nothing newer than TLS 1.2.
    pub fn server_tls12(&self, names: &[&str]) -> Arc<ServerConfig> {
        self.sign_for(leaf(names), &[&TLS12])
    }

    /// A server whose certificate ran out long ago.
    pub fn server_expired(&self) -> Arc<ServerConfig> {
        self.sign(expired())
    }

    /// A server whose certificate is not valid yet for years.
    pub fn server_of_the_future(&self) -> Arc<ServerConfig> {
        let mut params = leaf(&["localhost", "127.0.0.1", "::1"]);
        params.not_before = date_time_ymd(4001, 1, 1);
        params.not_after = date_time_ymd(4002, 1, 1);
        self.sign(params)
    }

    /// A server, speaking this version only, that insists on a client certificate of `clients`.
    pub fn server_for(
        &self,
        clients: &Authority,
        version: &'static SupportedProtocolVersion,
    ) -> Arc<ServerConfig> {
        let (certificate, key) = self.pair(leaf(&["localhost", "127.0.0.1", "::1"]));
        let roots = Arc::new(clients.roots());
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider());
        let config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[version])
            .expect("this version")
            .with_client_cert_verifier(verifier.build().expect("a verifier"))
            .with_single_cert(vec![certificate], key.into())
            .expect("a key that fits the certificate");
        Arc::new(config)
    }

    /// What a program of others needs to be such a server, for these names and those of loopback: its
    /// certificate and its key, as PEM.
    pub fn server_pem(&self, names: &[&str]) -> (String, String) {
        self.pem_pair(leaf(&[&["localhost", "127.0.0.1", "::1"], names].concat()))
    }

    /// The same for these names alone.
    pub fn server_pem_for(&self, names: &[&str]) -> (String, String) {
        self.pem_pair(leaf(names))
    }

    /// The same with a certificate that ran out long ago.
    pub fn expired_pem(&self) -> (String, String) {
        self.pem_pair(expired())
    }

    /// A certificate for a client and its key, as PEM.
    pub fn client_pem(&self) -> (String, String) {
        let mut params = leaf(&["client.example"]);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.pem_pair(params)
    }

    /// A client that trusts this authority only.
    pub fn client(&self) -> Arc<ClientConfig> {
        let config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .expect("TLS 1.2 and 1.3")
            .with_root_certificates(self.roots())
            .with_no_client_auth();
        Arc::new(config)
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.der.clone()).expect("a CA certificate");
        roots
    }

    fn pair(
        &self,
        params: CertificateParams,
    ) -> (CertificateDer<'static>, PrivatePkcs8KeyDer<'static>) {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.der().clone(), PrivatePkcs8KeyDer::from(key.serialize_der()))
    }

    fn pem_pair(&self, params: CertificateParams) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }

    fn sign(&self, params: CertificateParams) -> Arc<ServerConfig> {
        self.sign_for(params, DEFAULT_VERSIONS)
    }

    fn sign_for(
        &self,
        params: CertificateParams,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Arc<ServerConfig> {
        let (certificate, key) = self.pair(params);
        let config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(versions)
            .expect("TLS 1.2, 1.3 or both")
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key.into())
            .expect("a key that fits the certificate");
        Arc::new(config)
    }
}

fn leaf(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
    let mut params = CertificateParams::new(names).expect("names or addresses");
    params.distinguished_name.push(DnType::CommonName, "anyhost test server");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    params
}

fn expired() -> CertificateParams {
    let mut params = leaf(&["localhost", "127.0.0.1", "::1"]);
    params.not_before = date_time_ymd(2001, 1, 1);
    params.not_after = date_time_ymd(2002, 1, 1);
    params
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
