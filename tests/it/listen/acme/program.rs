//! The program with automatic certificates: settings, metrics, doctor.

use std::{fs, path::Path};

use serde_json::Value;
use tokio::net::TcpStream;

use crate::support::program::{eventually, request, run};

use super::{
    super::{
        GET, ask,
        program::{Program, addr, configured},
        tls::connect,
    },
    authority::Authority,
};

fn configuration(authority: &Authority) -> String {
    let (url, ca) = (&authority.url, authority.ca_file.display());
    format!(
        "[server]\nlisten = '127.0.0.1:0'\n[[listener]]\nlisten = '127.0.0.1:0'\n\
         acme = {{ hosts = ['a.example'], contact = 'b@example.com', directory = '{url}', \
         ca_file = '{ca}', cache = 'kept', agree_to_terms = true }}\n\
         [[certificate]]\ncertificate_file = 'site.pem'\nkey_file = 'site.key'\n"
    )
}

fn doctor(directory: &Path) -> Vec<(String, Value)> {
    let output = run(directory, &["doctor", "--offline", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap().iter();
    checks
        .filter(|check| check["check"] == "certificate")
        .map(|check| {
            (
                check["text"].as_str().unwrap().to_owned(),
                check["warning"].clone(),
            )
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_obtains_serves_and_reports_certificates() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::start(directory.path()).await;
    super::write(directory.path(), "site", &["file.example"]);
    let text = configuration(&authority);
    let mut command = configured(directory.path(), &text);
    let before = doctor(directory.path());
    assert!(
        before
            .iter()
            .any(|(text, _)| text.starts_with("a.example: not issued yet")),
        "{before:?}"
    );
    assert!(!directory.path().join("kept").exists());

    let (program, urls) = Program::start(&mut command, 2);
    let [_, https] = &urls[..] else {
        panic!("{urls:?}")
    };
    let metrics = || request(program.operation(), "GET", "/metrics", &[]).text();
    let expiry = |text: &str, name: &str, source: &str| {
        let sample = format!(
            "robot_detection_certificate_expiry_timestamp_seconds{{name=\"{name}\",source=\"{source}\"}} "
        );
        let value = text.lines().find_map(|line| line.strip_prefix(&sample));
        value
            .unwrap_or_else(|| panic!("{name} in {text}"))
            .parse::<u64>()
            .unwrap()
    };
    let text = metrics();
    assert_eq!(expiry(&text, "a.example", "acme"), 0);
    assert!(expiry(&text, "file.example", "file") > 4_000_000_000);
    authority.issue_next(59 * 86_400, 31 * 86_400 - 3_600);
    authority.set_host_address(addr(https));
    eventually("a certificate is obtained", || {
        expiry(&metrics(), "a.example", "acme") > 1_700_000_000
    });
    let stream = TcpStream::connect(addr(https)).await.unwrap();
    let stream = connect(stream, &[&authority.files()], "a.example", &[])
        .await
        .unwrap();
    assert!(ask(stream, GET).await.starts_with("HTTP/1.1 200"));
    let failures = "robot_detection_certificate_order_failures{name=\"a.example\"} 0";
    assert!(metrics().contains(failures));
    let log = fs::read_to_string(directory.path().join("stderr.log")).unwrap();
    assert_eq!(
        log.matches("ordering a certificate for a.example").count(),
        1,
        "{log}"
    );
    assert!(
        log.contains("obtained a certificate for a.example, valid for 30 days"),
        "{log}"
    );

    let after = doctor(directory.path());
    let good = (
        "a.example: valid for 30 days".to_owned(),
        Value::Bool(false),
    );
    assert!(after.contains(&good), "{after:?}");
}

#[tokio::test]
async fn doctor_warns_of_certificates_that_expire_soon() {
    let directory = tempfile::tempdir().unwrap();
    for (name, days) in [("soon", 13), ("gone", -2), ("late", 15)] {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new([format!("{name}.example")]).unwrap();
        let now = time::OffsetDateTime::now_utc();
        params.not_before = now - time::Duration::days(80);
        params.not_after = now + time::Duration::days(days) + time::Duration::hours(1);
        let certificate = params.self_signed(&key).unwrap().pem();
        fs::write(directory.path().join(format!("{name}.pem")), certificate).unwrap();
        fs::write(
            directory.path().join(format!("{name}.key")),
            key.serialize_pem(),
        )
        .unwrap();
    }
    let files = ["soon", "gone", "late"].map(|name| {
        format!("[[certificate]]\ncertificate_file = '{name}.pem'\nkey_file = '{name}.key'\n")
    });
    let text = format!(
        "[[listener]]\nlisten = '127.0.0.1:0'\ntls = true\n{}",
        files.concat()
    );
    configured(directory.path(), &text);
    let told = doctor(directory.path());
    let expected = [
        (
            "soon.example: expires in 13 days; renew the certificate",
            true,
        ),
        (
            "gone.example: expired 1 days ago; renew the certificate",
            false,
        ),
        ("late.example: valid for 15 days", false),
    ];
    let expected = expected.map(|(text, warning)| (text.to_owned(), Value::Bool(warning)));
    assert_eq!(told, expected);
}
