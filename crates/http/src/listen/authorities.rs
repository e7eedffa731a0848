//! Certificates of authorities, for connections that we open.

use std::path::Path;

use rustls::{
    RootCertStore,
    pki_types::{
        CertificateDer,
        pem::{self, PemObject as _},
    },
};

/// Why no authority can be had of a file; who asks for it spells it out.
#[derive(Debug)]
pub(crate) enum UnusableAuthorities {
    /// It cannot be read, or its PEM is broken.
    File(pem::Error),
    /// A certificate in it cannot be used.
    Certificate(rustls::Error),
    /// It holds no certificate.
    None,
}

/// Reads the authorities of a PEM file.
pub(crate) fn read_authorities(file: &Path) -> Result<RootCertStore, UnusableAuthorities> {
    let certificates = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(UnusableAuthorities::File)?;
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        let added = roots.add(certificate);
        added.map_err(UnusableAuthorities::Certificate)?;
    }
    if roots.is_empty() {
        return Err(UnusableAuthorities::None);
    }
    Ok(roots)
}
