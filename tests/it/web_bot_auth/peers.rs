//! Requests signed by third-party programs, sent to servers; run by `tests/peers/web_bot_auth`.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use robot_detection::{
    registry::{Pattern, PatternKind, Robot, Source},
    store::Store,
};

use crate::support::{
    http::{Reply, TestServer},
    program::{Server, command},
};

const RULES: &str = "
[[rule]]
path = '/members/*'
verdicts = ['verified']
action = 'pass'
wait_milliseconds = 10000

[[rule]]
path = '/members/*'
action = 'refuse'
";

/// Writes a certificate for loopback, and the authority that signed it.
fn certify(directory: &Path) {
    let authority_key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&authority_key).unwrap();
    let issuer = Issuer::from_params(&params, &authority_key);
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    let chain = key.serialize_pem() + &certificate.pem();
    fs::write(directory.join("ca.pem"), authority.pem()).unwrap();
    fs::write(directory.join("directories.pem"), chain).unwrap();
}

/// Starts a server that admits only verified robots to its members' pages.
async fn serve(
    directory: &Path,
    upstream: &TestServer,
    agents: &[String],
    allow_private: bool,
) -> Server {
    fs::create_dir(directory).unwrap();
    let database = format!("sqlite://{}", directory.join("robots.db").display());
    let mut robot = Robot::new("peer", Source::manual());
    "PeerRobot".clone_into(&mut robot.useragent);
    robot.patterns = vec![Pattern::new(PatternKind::Token, "PeerRobot")];
    robot.signature_agents = agents.to_vec();
    let store = Store::connect(&database).await.unwrap();
    store.robots().add(&robot, 0).await.unwrap();
    store.close().await;
    let settings = format!(
        "web_robots_db = ''\nbundled_registry = false\ndatabase.url = '{database}'\n\
         log.level = 'warn,robot_detection::verify=debug'\nserver.upstream = '{}'\n\
         verify.allow_private_addresses = {allow_private}\n{RULES}",
        upstream.url("/")
    );
    fs::write(directory.join("robot-detection.toml"), settings).unwrap();
    let mut command = command(directory);
    command.env("SSL_CERT_FILE", directory.with_file_name("ca.pem"));
    Server::start_as(command, directory, &["serve"])
}

fn signer(directory: &Path) -> Child {
    let python = std::env::var_os("WEB_BOT_AUTH_PYTHON").unwrap_or("python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/web_bot_auth.d/sign.py");
    let mut command = Command::new(python);
    command.arg(script).arg(directory.join("directories.pem"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().unwrap()
}

/// The script serves key directories, prints their addresses, and signs requests to the servers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a Python with the package http-message-signatures, which the script installs"]
async fn a_third_party_signer_is_verified() {
    let directory = tempfile::tempdir().unwrap();
    certify(directory.path());
    let upstream = TestServer::with(|seen| {
        let verdict = seen.header("x-robot-detection-verdict");
        Reply::text(verdict.unwrap_or("none"))
    });
    let mut signer = signer(directory.path());
    let mut says = BufReader::new(signer.stdout.take().unwrap()).lines();
    let agents = says.next().expect("the script printed no address").unwrap();
    let agents: Vec<_> = agents.split(' ').map(str::to_owned).collect();
    let [open, strict] = ["open", "strict"].map(|name| directory.path().join(name));
    let servers = [
        (serve(&open, &upstream, &agents, true).await, open),
        (serve(&strict, &upstream, &agents, false).await, strict),
    ];
    let mut input = signer.stdin.take().unwrap();
    for (server, directory) in &servers {
        let log = directory.join("stderr.log");
        writeln!(input, "{} {}", server.addr, log.display()).unwrap();
    }
    let mut out = std::io::stdout().lock();
    for line in says {
        writeln!(out, "{}", line.unwrap()).unwrap();
    }
    assert!(signer.wait().unwrap().success());
}
