//! A robot that signs its requests, and the directory of its key.

use base64::{Engine as _, engine::general_purpose};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, header};
use ring::{
    digest,
    rand::{SecureRandom as _, SystemRandom},
    signature::{Ed25519KeyPair, KeyPair as _},
};
use sfv::{
    BareItem, DictSerializer, Dictionary, FieldType as _, InnerList, Integer, Item, KeyRef,
    StringRef, key_ref, string_ref,
};
use url::Url;

use super::key;
use crate::verify::web_bot_auth::{
    SignedRequest,
    base::{add_line, last_line, signature_bases, spell_item},
    directories::MEDIA_TYPE,
    possession,
    signature::TAG,
};
use robot_detection_layer::clock::Clock;

/// The label of the signatures on the robot's requests.
const LABEL: &KeyRef = key_ref("sig1");
/// The lifetime of the signature on a request, in seconds.
const REQUEST_S: i64 = 60;
/// The cache lifetime of the key directory and the lifetime of its signature, in seconds.
const DIRECTORY_S: i64 = 24 * 60 * 60;

/// The seed of the signing key, so that all signers have the same key.
const SEED: [u8; 32] = [7; 32];

/// A signer of a robot's requests.
pub(super) struct Signer {
    pair: Ed25519KeyPair,
    keyid: String,
    agent: String,
    random: SystemRandom,
    clock: Clock,
}

impl Signer {
    /// Creates a signer for the origin that serves the key directory.
    pub(super) fn new(agent: &str, clock: &Clock) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(&SEED).unwrap();
        let x = general_purpose::URL_SAFE_NO_PAD.encode(pair.public_key());
        let jwk = format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{x}"}}"#);
        Self {
            keyid: key(&jwk).keyid,
            pair,
            agent: agent.to_owned(),
            random: SystemRandom::new(),
            clock: clock.clone(),
        }
    }

    /// Returns the thumbprint of the signing key.
    pub(super) fn keyid(&self) -> &str {
        &self.keyid
    }

    /// Signs the method, host, path and query of a request; the signature is valid for one minute.
    ///
    /// This sets the headers `Signature-Agent`, `Signature-Input` and `Signature`. A request for a
    /// URL without a host is not signed.
    pub(super) fn sign(&self, method: &Method, url: &Url, headers: &mut HeaderMap) {
        let Some(signature) = self.signature(method, url, headers) else {
            return;
        };
        for (name, value) in signature {
            headers.insert(name, value);
        }
    }

    /// Returns the key directory, with a signature that is valid for the agent's host only.
    pub(super) fn directory(&self) -> Response<Bytes> {
        let x = general_purpose::URL_SAFE_NO_PAD.encode(self.pair.public_key());
        let key = serde_json::json!({
            "kty": "OKP", "crv": "Ed25519", "kid": self.keyid, "x": x, "use": "sig",
        });
        let body = serde_json::json!({ "keys": [key] }).to_string();
        let mut response = Response::new(Bytes::from(body));
        let signature = self.directory_signature(response.body());
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        let cache = HeaderValue::from_static("public, max-age=86400");
        headers.insert(header::CACHE_CONTROL, cache);
        headers.extend(signature.into_iter().flatten());
        response
    }

    fn signature(
        &self,
        method: &Method,
        url: &Url,
        headers: &HeaderMap,
    ) -> Option<[(HeaderName, HeaderValue); 3]> {
        let mut agent = DictSerializer::new();
        let name = sfv::String::from_string(self.agent.clone()).ok()?;
        let _ = agent.bare_item(LABEL, &*name);
        let agent = HeaderValue::from_str(&agent.finish()?).ok()?;
        let agent_name = HeaderName::from_static("signature-agent");
        let mut covered = headers.clone();
        covered.insert(agent_name.clone(), agent.clone());

        let mut own = Item::new(string_ref("signature-agent").to_owned());
        let key = string_ref("sig1").to_owned();
        own.params.insert(key_ref("key").to_owned(), key.into());
        let plain = ["@authority", "@method", "@path", "@query"];
        let plain = plain.map(|name| Some(Item::new(StringRef::from_str(name).ok()?.to_owned())));
        let mut items = plain.into_iter().collect::<Option<Vec<_>>>()?;
        items.push(own);
        let mut input = InnerList::new(items);
        self.add_parameters(&mut input, REQUEST_S, &string_ref_of(TAG)?)?;

        let target = target(url);
        let authority = authority(url)?;
        let request = SignedRequest {
            method,
            scheme: Some(url.scheme()),
            authority: &authority,
            target: &target,
            headers: &covered,
        };
        // The scheme is known, so there is only one base.
        let base = signature_bases(&request, &input).ok()?.pop()?;
        let [input, signature] = self.sign_base(input, &base.bytes)?;
        Some([(agent_name, agent), input, signature])
    }

    /// Signs the key directory for the agent's host (draft, "Possession Proof").
    fn directory_signature(&self, body: &[u8]) -> Option<[(HeaderName, HeaderValue); 3]> {
        let digest = digest::digest(&digest::SHA256, body);
        let digest = format!("sha-256=:{}:", general_purpose::STANDARD.encode(digest));
        let mut host = Item::new(string_ref("@authority").to_owned());
        let yes = BareItem::Boolean(true);
        host.params.insert(key_ref("req").to_owned(), yes);
        let content = Item::new(string_ref("content-digest").to_owned());
        let mut base = Vec::new();
        let (_, authority) = self.agent.split_once("://")?;
        add_line(&mut base, &spell_item(&host), authority.as_bytes());
        add_line(&mut base, &spell_item(&content), digest.as_bytes());
        let mut input = InnerList::new(vec![host, content]);
        self.add_parameters(&mut input, DIRECTORY_S, &string_ref_of(possession::TAG)?)?;
        base.extend_from_slice(last_line(&input).as_bytes());
        let [input, signature] = self.sign_base(input, &base)?;
        let digest = HeaderValue::from_str(&digest).ok()?;
        let name = HeaderName::from_static("content-digest");
        Some([(name, digest), input, signature])
    }

    fn add_parameters(&self, input: &mut InnerList, for_s: i64, tag: &StringRef) -> Option<()> {
        let mut nonce = [0; 32];
        self.random.fill(&mut nonce).ok()?;
        let nonce = general_purpose::STANDARD.encode(nonce);
        let created_s = self.clock.now_ms().div_euclid(1_000);
        let time = |time_s: i64| Some(BareItem::Integer(Integer::try_from(time_s).ok()?));
        let text = |text: &str| Some(BareItem::String(string_ref_of(text)?));
        for (name, value) in [
            ("created", time(created_s)?),
            ("keyid", text(&self.keyid)?),
            ("alg", text("ed25519")?),
            ("expires", time(created_s.saturating_add(for_s))?),
            ("nonce", text(&nonce)?),
            ("tag", text(tag.as_str())?),
        ] {
            let name = KeyRef::from_str(name).ok()?.to_owned();
            input.params.insert(name, value);
        }
        Some(())
    }

    /// Returns the values of the headers `Signature-Input` and `Signature`.
    fn sign_base(&self, input: InnerList, base: &[u8]) -> Option<[(HeaderName, HeaderValue); 2]> {
        let signature = BareItem::ByteSequence(self.pair.sign(base).as_ref().to_vec());
        let field = |member: sfv::ListEntry| {
            let members = Dictionary::from([(LABEL.to_owned(), member)]);
            HeaderValue::from_str(&members.serialize()?).ok()
        };
        Some([
            (
                HeaderName::from_static("signature-input"),
                field(input.into())?,
            ),
            (
                HeaderName::from_static("signature"),
                field(Item::new(signature).into())?,
            ),
        ])
    }
}

fn string_ref_of(text: &str) -> Option<sfv::String> {
    StringRef::from_str(text).ok().map(ToOwned::to_owned)
}

fn target(url: &Url) -> String {
    match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    }
}

fn authority(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}
