use std::fs;

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{CertificateDer, UnixTime, pem::PemObject as _};
use tempfile::TempDir;
use webpki::EndEntityCert;

use super::{super::certificate::validity_error, *};

/// Writes `NAME.pem` and `NAME.key` for a new certificate with the given names.
fn write(directory: &TempDir, name: &str, names: &[&str]) -> CertificateFiles {
    let names = names
        .iter()
        .map(|name| (*name).to_owned())
        .collect::<Vec<_>>();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(names)
        .unwrap()
        .self_signed(&key)
        .unwrap();
    let files = CertificateFiles {
        certificate_file: directory.path().join(format!("{name}.pem")),
        key_file: directory.path().join(format!("{name}.key")),
    };
    fs::write(&files.certificate_file, certificate.pem()).unwrap();
    fs::write(&files.key_file, key.serialize_pem()).unwrap();
    files
}

fn served(tls: &Tls, name: Option<&str>) -> Vec<u8> {
    let key = tls.certificates.names.load().find(name).unwrap();
    key.cert[0].to_vec()
}

fn error(files: &CertificateFiles) -> String {
    Tls::load(vec![files.clone()]).unwrap_err().to_string()
}

#[test]
fn certificate_is_selected_by_name_then_wildcard_then_first() {
    let directory = tempfile::tempdir().unwrap();
    let files = [
        write(&directory, "first", &["first.example"]),
        write(&directory, "wild", &["*.site.example", "site.example"]),
        write(&directory, "exact", &["www.site.example", "First.Example"]),
    ];
    let tls = Tls::load(files.to_vec()).unwrap();
    let certificates = files.map(|files| {
        let pem = fs::read(files.certificate_file).unwrap();
        CertificateDer::from_pem_slice(&pem).unwrap().to_vec()
    });
    let [first, wild, exact] = &certificates;
    for (name, expected) in [
        (None, first),
        (Some("first.example"), first),
        (Some("www.site.example"), exact),
        (Some("WWW.Site.Example"), exact),
        (Some("www.site.example."), exact),
        (Some("site.example"), wild),
        (Some("shop.site.example"), wild),
        (Some("a.b.site.example"), first),
        (Some(".site.example"), wild),
        (Some("example"), first),
        (Some("other.example"), first),
    ] {
        assert!(served(&tls, name) == *expected, "{name:?}");
    }
}

#[test]
fn changed_files_are_loaded_and_broken_ones_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let files = write(&directory, "site", &["site.example"]);
    let tls = Tls::load(vec![files.clone()]).unwrap();
    let old = served(&tls, None);
    tls.reload();
    assert_eq!(served(&tls, None), old);

    let next = write(&directory, "next", &["site.example", "more.example"]);
    // The certificate is written first, and its key does not match yet.
    fs::rename(next.certificate_file, &files.certificate_file).unwrap();
    tls.reload();
    assert_eq!(served(&tls, None), old);
    assert!(tls.certificates.pairs.lock()[0].problem.is_some());
    fs::rename(next.key_file, &files.key_file).unwrap();
    tls.reload();
    let new = served(&tls, Some("more.example"));
    assert_ne!(new, old);
    assert!(tls.certificates.pairs.lock()[0].problem.is_none());

    fs::remove_file(&files.key_file).unwrap();
    tls.reload();
    assert_eq!(served(&tls, None), new);
}

#[test]
fn certificate_errors_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let files = write(&directory, "site", &["site.example"]);
    let other = write(&directory, "other", &["other.example"]);
    let missing = CertificateFiles {
        certificate_file: directory.path().join("missing.pem"),
        ..files.clone()
    };
    let text = error(&missing);
    assert!(text.contains("missing.pem: cannot read the file"), "{text}");
    let text = error(&CertificateFiles {
        certificate_file: files.key_file.clone(),
        ..files.clone()
    });
    assert!(text.contains("site.key: no PEM certificate"), "{text}");
    let text = error(&CertificateFiles {
        key_file: files.certificate_file.clone(),
        ..files.clone()
    });
    assert!(text.contains("site.pem: no PEM private key"), "{text}");
    let text = error(&CertificateFiles {
        key_file: other.key_file,
        ..files.clone()
    });
    assert!(
        text.contains("other.key: the key does not match the certificate"),
        "{text}"
    );
    for encrypted in [
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: A,B\n\nAAAA\n-----END RSA PRIVATE KEY-----\n",
    ] {
        fs::write(&files.key_file, encrypted).unwrap();
        let text = error(&files);
        assert!(text.contains("site.key: the key is encrypted"), "{text}");
    }
    fs::write(
        &files.certificate_file,
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    )
    .unwrap();
    let text = error(&files);
    assert!(
        text.contains("site.pem: the first certificate is malformed"),
        "{text}"
    );
    assert!(Tls::load(Vec::new()).is_err());
}

#[test]
fn validity_of_a_certificate_is_known() {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["site.example".to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(2001, 1, 1);
    params.not_after = rcgen::date_time_ymd(2002, 1, 1);
    let certificate = params.self_signed(&key).unwrap();
    let parsed = EndEntityCert::try_from(certificate.der()).unwrap();
    let at = |secs| {
        validity_error(
            &parsed,
            UnixTime::since_unix_epoch(Duration::from_secs(secs)),
        )
    };
    assert!(matches!(
        at(950_000_000),
        Some(webpki::Error::CertNotValidYet { .. })
    ));
    assert!(matches!(
        at(1_100_000_000),
        Some(webpki::Error::CertExpired { .. })
    ));
    // Only the certificate's issuer is unknown, because no issuer was given.
    assert!(matches!(
        at(1_000_000_000),
        Some(webpki::Error::UnknownIssuer)
    ));
}
