//! A small certificate authority: an ACME server (RFC 8555) that really validates proofs.

use std::{
    collections::{HashSet, VecDeque},
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
};

use axum::{
    body::Bytes,
    extract::State,
    http::{HeaderMap, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use rcgen::{
    BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, PKCS_ECDSA_P256_SHA256,
    PublicKeyData, SignatureAlgorithm,
};
use robot_detection::listen::CertificateFiles;
use rustls::{
    ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    jws::{Jws, decoded, encoded, thumbprint},
    validation::validate,
};

/// A running authority; stops when dropped.
pub(super) struct Authority {
    pub(super) url: String,
    pub(super) ca_file: PathBuf,
    desk: Arc<Shared>,
    stop: CancellationToken,
}

/// State shared by the handlers.
struct Shared {
    base: String,
    issuer: Issuer<'static, KeyPair>,
    /// Address of all hosts; validation waits until the address is set.
    site: watch::Sender<Option<SocketAddr>>,
    tasks: TaskTracker,
    books: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    number: u64,
    nonces: HashSet<String>,
    /// Key and contacts of each account.
    accounts: Vec<(Value, Value)>,
    orders: Vec<Order>,
    /// Number of next requests with a rejected, though valid, nonce.
    bad_nonces: u32,
    /// Problem types of the next orders, which are refused.
    refused: VecDeque<&'static str>,
    /// Age and remaining lifetime of the next certificates in seconds; later ones last ninety days.
    lifetimes: VecDeque<(i64, i64)>,
    problems: Vec<String>,
}

struct Order {
    host: String,
    account: usize,
    status: &'static str,
    problem: Option<String>,
    certificate: Option<String>,
}

impl Authority {
    pub(super) async fn start(directory: &Path) -> Self {
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("https://localhost:{}", tcp.local_addr().unwrap().port());
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let ca_file = directory.join("authority.pem");
        fs::write(&ca_file, params.self_signed(&key).unwrap().pem()).unwrap();
        let desk = Arc::new(Shared {
            base: base.clone(),
            issuer: Issuer::new(params, key),
            site: watch::Sender::new(None),
            tasks: TaskTracker::new(),
            books: Mutex::default(),
        });
        let listener = TlsListener {
            acceptor: acceptor(&desk.issuer),
            tcp,
        };
        let router = axum::Router::new()
            .fallback(handle)
            .with_state(Arc::clone(&desk));
        let stop = CancellationToken::new();
        let serving =
            axum::serve(listener, router).with_graceful_shutdown(stop.clone().cancelled_owned());
        desk.tasks.spawn(async move { serving.await.unwrap() });
        Self {
            url: format!("{base}/directory"),
            ca_file,
            desk,
            stop,
        }
    }

    /// Sets the address of the hosts.
    pub(super) fn set_host_address(&self, site: SocketAddr) {
        self.desk.site.send_replace(Some(site));
    }

    /// Returns the authority's certificate, in the form of a client's trust settings.
    pub(super) fn files(&self) -> CertificateFiles {
        CertificateFiles {
            certificate_file: self.ca_file.clone(),
            key_file: PathBuf::new(),
        }
    }

    pub(super) fn issue_next(&self, age_secs: i64, left_secs: i64) {
        self.desk.books().lifetimes.push_back((age_secs, left_secs));
    }

    pub(super) fn refuse_next(&self, problem: &'static str) {
        self.desk.books().refused.push_back(problem);
    }

    pub(super) fn refuse_nonces(&self, number: u32) {
        self.desk.books().bad_nonces = number;
    }

    /// Forgets all accounts.
    pub(super) fn forget(&self) {
        for (key, _) in &mut self.desk.books().accounts {
            *key = Value::Null;
        }
    }

    /// Number of accounts ever opened.
    pub(super) fn accounts(&self) -> usize {
        self.desk.books().accounts.len()
    }

    pub(super) fn contacts(&self, account: usize) -> Value {
        self.desk.books().accounts[account].1.clone()
    }

    /// Returns the hosts of all issued certificates.
    pub(super) fn issued(&self) -> Vec<String> {
        let books = self.desk.books();
        let issued = books
            .orders
            .iter()
            .filter(|order| order.certificate.is_some());
        issued.map(|order| order.host.clone()).collect()
    }

    /// Returns the clients' errors.
    pub(super) fn problems(&self) -> Vec<String> {
        self.desk.books().problems.clone()
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Clients' connections over TLS.
struct TlsListener {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

impl axum::serve::Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            if let Ok((stream, addr)) = self.tcp.accept().await
                && let Ok(stream) = self.acceptor.accept(stream).await
            {
                return (stream, addr);
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}

fn acceptor(issuer: &Issuer<'static, KeyPair>) -> TlsAcceptor {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, issuer).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.into()], key);
    TlsAcceptor::from(Arc::new(config.unwrap()))
}

/// Response without its nonce.
struct Answer(StatusCode, Option<String>, String);

/// Problem of a type of RFC 8555 §6.7.
struct Problem(&'static str, String);

async fn handle(
    State(desk): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri.path();
    let answer = match (&method, path) {
        (&Method::GET, "/directory") => Ok(desk.directory()),
        (&Method::HEAD, "/nonce") => Ok(Answer(StatusCode::OK, None, String::new())),
        (&Method::POST, _) if headers[header::CONTENT_TYPE] == "application/jose+json" => {
            desk.post(path, &Jws::read(&body))
        }
        _ => Err(Problem("malformed", format!("{method} {path}"))),
    };
    let (status, kind, Answer(_, location, text)) = match answer {
        Ok(answer) => (answer.0, "application/json", answer),
        Err(Problem(kind, detail)) => {
            desk.books().problems.push(kind.to_owned());
            let kind = format!("urn:ietf:params:acme:error:{kind}");
            let text = json!({"type": kind, "detail": detail}).to_string();
            let status = StatusCode::BAD_REQUEST;
            (
                status,
                "application/problem+json",
                Answer(status, None, text),
            )
        }
    };
    let mut response = (status, [(header::CONTENT_TYPE, kind)], text).into_response();
    let nonce = desk.books().nonce();
    response
        .headers_mut()
        .insert("replay-nonce", nonce.parse().unwrap());
    if let Some(location) = location {
        let location = location.parse().unwrap();
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

impl Shared {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap()
    }

    fn directory(&self) -> Answer {
        let base = &self.base;
        let directory = json!({
            "newNonce": format!("{base}/nonce"),
            "newAccount": format!("{base}/new-account"),
            "newOrder": format!("{base}/new-order"),
            "meta": {"termsOfService": format!("{base}/terms")},
        });
        Answer(StatusCode::OK, None, directory.to_string())
    }

    fn post(self: &Arc<Self>, path: &str, jws: &Jws) -> Result<Answer, Problem> {
        let mut books = self.books();
        books.check_nonce(jws)?;
        if jws.protected["url"] != format!("{}{path}", self.base) {
            return Err(Problem("unauthorized", "another url".to_owned()));
        }
        if path == "/new-account" {
            return self.open(&mut books, jws);
        }
        let account = self.account(&books, jws)?;
        let mut parts = path.split('/').skip(1);
        let (what, number) = (parts.next(), parts.next());
        let number = number.and_then(|number| number.parse::<usize>().ok());
        let at = match (what, number) {
            (Some("new-order"), None) => return self.order(&mut books, jws, account),
            (_, Some(number)) if books.orders[number].account == account => number,
            _ => return Err(Problem("malformed", path.to_owned())),
        };
        let text = match what {
            Some("orders") => self.told(&books, at).to_string(),
            Some("authorizations") => self.authorization(&books, at).to_string(),
            Some("challenges") => {
                self.look(&mut books, at);
                self.challenge(&books, at).to_string()
            }
            Some("finalize") => {
                self.issue(&mut books, at, jws)?;
                self.told(&books, at).to_string()
            }
            Some("certificates") => books.orders[at].certificate.clone().unwrap(),
            _ => return Err(Problem("malformed", path.to_owned())),
        };
        Ok(Answer(StatusCode::OK, None, text))
    }

    fn open(&self, books: &mut Books, jws: &Jws) -> Result<Answer, Problem> {
        let key = &jws.protected["jwk"];
        if !jws.is_signed_by(key) {
            return Err(Problem("unauthorized", "another signature".to_owned()));
        }
        if jws.payload["termsOfServiceAgreed"] != true {
            return Err(Problem("userActionRequired", "the terms".to_owned()));
        }
        books
            .accounts
            .push((key.clone(), jws.payload["contact"].clone()));
        let location = format!("{}/accounts/{}", self.base, books.accounts.len() - 1);
        let text = json!({"status": "valid"}).to_string();
        Ok(Answer(StatusCode::CREATED, Some(location), text))
    }

    fn account(&self, books: &Books, jws: &Jws) -> Result<usize, Problem> {
        let id = jws.protected["kid"].as_str().unwrap();
        let number = id.strip_prefix(&format!("{}/accounts/", self.base));
        let number: usize = number.unwrap().parse().unwrap();
        let key = &books.accounts[number].0;
        if key.is_null() {
            return Err(Problem("accountDoesNotExist", id.to_owned()));
        }
        if !jws.is_signed_by(key) {
            return Err(Problem("unauthorized", "another signature".to_owned()));
        }
        Ok(number)
    }

    fn order(&self, books: &mut Books, jws: &Jws, account: usize) -> Result<Answer, Problem> {
        if let Some(kind) = books.refused.pop_front() {
            return Err(Problem(kind, "not now".to_owned()));
        }
        let identifiers = jws.payload["identifiers"].as_array().unwrap();
        assert_eq!(
            (identifiers.len(), &identifiers[0]["type"]),
            (1, &json!("dns"))
        );
        books.orders.push(Order {
            host: identifiers[0]["value"].as_str().unwrap().to_owned(),
            account,
            status: "pending",
            problem: None,
            certificate: None,
        });
        let number = books.orders.len() - 1;
        let location = format!("{}/orders/{number}", self.base);
        let text = self.told(books, number).to_string();
        Ok(Answer(StatusCode::CREATED, Some(location), text))
    }

    fn told(&self, books: &Books, at: usize) -> Value {
        let base = &self.base;
        let order = &books.orders[at];
        let mut told = json!({
            "status": order.status,
            "identifiers": [{"type": "dns", "value": order.host}],
            "authorizations": [format!("{base}/authorizations/{at}")],
            "finalize": format!("{base}/finalize/{at}"),
        });
        if order.certificate.is_some() {
            told["certificate"] = format!("{base}/certificates/{at}").into();
        }
        told
    }

    fn authorization(&self, books: &Books, at: usize) -> Value {
        let order = &books.orders[at];
        let other = json!({
            "type": "dns-01", "url": format!("{}/none", self.base), "token": "t", "status": "pending"
        });
        json!({
            "identifier": {"type": "dns", "value": order.host},
            "status": match order.status {
                "ready" => "valid",
                status => status,
            },
            "challenges": [other, self.challenge(books, at)],
        })
    }

    fn challenge(&self, books: &Books, at: usize) -> Value {
        let order = &books.orders[at];
        let mut challenge = json!({
            "type": "tls-alpn-01",
            "url": format!("{}/challenges/{at}", self.base),
            "token": token(at),
            "status": match order.status {
                "ready" => "valid",
                "looking" => "processing",
                status => status,
            },
        });
        if let Some(problem) = &order.problem {
            let kind = "urn:ietf:params:acme:error:unauthorized";
            challenge["error"] = json!({"type": kind, "detail": problem});
        }
        challenge
    }

    /// Starts the validation of a proof in the background.
    fn look(self: &Arc<Self>, books: &mut Books, at: usize) {
        let order = &books.orders[at];
        let (key, _) = &books.accounts[order.account];
        let expected = format!("{}.{}", token(at), thumbprint(key));
        let host = order.host.clone();
        let desk = Arc::clone(self);
        self.tasks.spawn(async move {
            let mut site = desk.site.subscribe();
            let site = site.wait_for(Option::is_some).await.unwrap().unwrap();
            let found = validate(site, &host, &expected).await;
            let order = &mut desk.books().orders[at];
            order.status = if found.is_ok() { "ready" } else { "invalid" };
            order.problem = found.err();
        });
    }

    fn issue(&self, books: &mut Books, at: usize, jws: &Jws) -> Result<(), Problem> {
        let request = decoded(jws.payload["csr"].as_str().unwrap());
        let order = &mut books.orders[at];
        let names_host = request
            .windows(order.host.len())
            .any(|part| part == order.host.as_bytes());
        let key = P256Key::find(&request);
        let (Some(key), true, "ready") = (key, names_host, order.status) else {
            return Err(Problem("badCSR", order.status.to_owned()));
        };
        let mut params = CertificateParams::new([order.host.clone()]).unwrap();
        let (age, left) = books.lifetimes.pop_front().unwrap_or((0, 90 * 86_400));
        let now = OffsetDateTime::now_utc();
        params.not_before = now - Duration::seconds(age);
        params.not_after = now + Duration::seconds(left);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        order.certificate = Some(certificate.pem());
        order.status = "valid";
        Ok(())
    }
}

impl Books {
    fn nonce(&mut self) -> String {
        self.number += 1;
        let nonce = encoded(format!("nonce {}", self.number).as_bytes());
        self.nonces.insert(nonce.clone());
        nonce
    }

    fn check_nonce(&mut self, jws: &Jws) -> Result<(), Problem> {
        let nonce = jws.protected["nonce"].as_str().unwrap();
        let is_known = self.nonces.remove(nonce);
        if !is_known || self.bad_nonces > 0 {
            self.bad_nonces = self.bad_nonces.saturating_sub(1);
            return Err(Problem("badNonce", nonce.to_owned()));
        }
        Ok(())
    }
}

fn token(order: usize) -> String {
    encoded(format!("a token that nobody could guess: {order}").as_bytes())
}

/// Public key of a certificate request.
struct P256Key(Vec<u8>);

impl P256Key {
    /// Finds an uncompressed P-256 point after its algorithm (RFC 5480).
    fn find(request: &[u8]) -> Option<Self> {
        let before = b"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00";
        let at = request
            .windows(before.len())
            .position(|part| part == before)?;
        let start = at + before.len();
        Some(Self(request.get(start..start + 65)?.to_vec()))
    }
}

impl PublicKeyData for P256Key {
    fn der_bytes(&self) -> &[u8] {
        &self.0
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &PKCS_ECDSA_P256_SHA256
    }
}
