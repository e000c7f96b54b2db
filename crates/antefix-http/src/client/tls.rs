//! TLS: which provider, which roots.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use crate::error::{Fault, HttpError};

/// The one place that names the cryptography in use.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

/// Trusts the platform's root certificates and `extra_roots` (PEM, may be empty). Reads files.
pub(super) fn trusting(extra_roots: &[u8]) -> Result<ClientConfig, HttpError> {
    let roots = CertificateDer::pem_slice_iter(extra_roots)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| unusable(&format!("the extra root certificates cannot be read: {error}")))?;
    let provider = provider();
    let verifier = Verifier::new_with_extra_roots(roots, Arc::clone(&provider))
        .map_err(|error| unusable(&format!("no root certificates: {error}")))?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// For a client that only speaks plain HTTP: trusts nobody, reads no file, costs microseconds.
pub(super) fn unused() -> Result<ClientConfig, HttpError> {
    Ok(ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error.to_string()))?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth())
}

fn unusable(text: &str) -> HttpError {
    HttpError::new(Fault::Roots, false, text.to_owned())
}
