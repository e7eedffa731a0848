//! Keys of a directory (RFC 7517), their thumbprints (RFC 7638), and signature verification.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use ring::{
    digest,
    signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PSS_2048_8192_SHA512,
        RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
    },
};
use serde::Deserialize;
use serde_json::Value;

use super::possession::Possession;

/// The maximum number of keys in a directory.
pub(super) const MAX_KEYS: usize = 32;

/// Thumbprints of the test keys in RFC 9421 §B.1, which also publishes their private halves.
const TEST_KEYS: &[&str] = &[
    "oD0HwocPBSfpNy5W3bpJeyFGY_IQ_YpqxSjQ3Yd-CLA",
    "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",
    "ydQXMtvbsOsZyFir-Y7A8t7fKEM1gbKPvyFkdpu4fvI",
];

/// A public key from a directory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Key {
    /// The thumbprint that was calculated from the key.
    pub(super) keyid: String,
    /// Whether the directory's own signature proves possession of the key's private half.
    pub(super) possession: Possession,
    material: Material,
    not_before_s: Option<i64>,
    expires_s: Option<i64>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Material {
    Ed25519(Vec<u8>),
    P256(Vec<u8>),
    P384(Vec<u8>),
    Rsa { n: Vec<u8>, e: Vec<u8> },
}

#[derive(Deserialize)]
struct Jwks {
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    #[serde(default)]
    crv: String,
    #[serde(default)]
    x: String,
    #[serde(default)]
    y: String,
    #[serde(default)]
    n: String,
    #[serde(default)]
    e: String,
    alg: Option<String>,
    #[serde(rename = "use")]
    used_for: Option<String>,
    nbf: Option<f64>,
    exp: Option<f64>,
    d: Option<Value>,
}

/// Parses a JSON Web Key Set. Returns `None` if the JSON is not a key set.
///
/// Unusable keys are skipped: keys of other types or for other uses, invalid keys, and keys
/// published with their private half. `kid` is ignored.
pub(super) fn keys(json: &[u8]) -> Option<Vec<Key>> {
    let set: Jwks = serde_json::from_slice(json).ok()?;
    if set.keys.len() > MAX_KEYS {
        return None;
    }
    Some(set.keys.into_iter().filter_map(Key::read).collect())
}

impl Key {
    fn read(json: Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(json).ok()?;
        let is_for_signing = jwk.used_for.as_deref().is_none_or(|used| used == "sig");
        if jwk.d.is_some() || !is_for_signing {
            return None;
        }
        let material = Material::read(&jwk)?;
        let fits = jwk.alg.as_deref().is_none_or(|alg| material.is_alg(alg));
        fits.then(|| Self {
            keyid: material.thumbprint(),
            possession: Possession::default(),
            material,
            not_before_s: jwk.nbf.map(seconds),
            expires_s: jwk.exp.map(seconds),
        })
    }

    /// Returns the name of the key's algorithm, as used in a signature's `alg` (RFC 9421 §6.2).
    pub(super) fn algorithm(&self) -> &'static str {
        match self.material {
            Material::Ed25519(_) => "ed25519",
            Material::P256(_) => "ecdsa-p256-sha256",
            Material::P384(_) => "ecdsa-p384-sha384",
            Material::Rsa { .. } => "rsa-pss-sha512",
        }
    }

    /// Returns `true` if the key is currently valid according to its `nbf` and `exp`.
    pub(super) fn is_valid(&self, now_s: i64, skew_s: i64) -> bool {
        self.not_before_s
            .is_none_or(|from| from <= now_s.saturating_add(skew_s))
            && self
                .expires_s
                .is_none_or(|until| now_s.saturating_sub(skew_s) < until)
    }

    /// Returns `true` if the private half of the key has been published.
    pub(super) fn is_test_key(&self) -> bool {
        TEST_KEYS.contains(&self.keyid.as_str())
    }

    /// Returns `true` if this key verifies the signature of a message.
    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let by = |algorithm: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(algorithm, key).verify(message, signature)
        };
        let verified = match &self.material {
            Material::Ed25519(key) => by(&ED25519, key),
            Material::P256(key) => by(&ECDSA_P256_SHA256_FIXED, key),
            Material::P384(key) => by(&ECDSA_P384_SHA384_FIXED, key),
            Material::Rsa { n, e } => {
                let key = RsaPublicKeyComponents { n, e };
                key.verify(&RSA_PSS_2048_8192_SHA512, message, signature)
            }
        };
        verified.is_ok()
    }
}

impl Material {
    fn read(jwk: &Jwk) -> Option<Self> {
        let decode = |text: &str| BASE64.decode(text).ok();
        match (jwk.kty.as_str(), jwk.crv.as_str()) {
            ("OKP", "Ed25519") => {
                let x = decode(&jwk.x).filter(|x| x.len() == 32)?;
                Some(Self::Ed25519(x))
            }
            ("EC", curve @ ("P-256" | "P-384")) => {
                let length = if curve == "P-256" { 32 } else { 48 };
                let of_length = |text: &str| decode(text).filter(|it| it.len() == length);
                // Uncompressed point (SEC 1 §2.3.3), as required by ring.
                let point = [&[4][..], &of_length(&jwk.x)?, &of_length(&jwk.y)?].concat();
                Some(if curve == "P-256" {
                    Self::P256(point)
                } else {
                    Self::P384(point)
                })
            }
            ("RSA", _) => {
                // Some libraries prepend a zero, contrary to RFC 7518 §6.3.1.1: the thumbprint is
                // calculated without it.
                let n = without_zeros(decode(&jwk.n)?);
                let e = without_zeros(decode(&jwk.e)?);
                // ring supports moduli of 2,048 to 8,192 bits.
                let fits = (256..=1024).contains(&n.len()) && (1..=8).contains(&e.len());
                fits.then_some(Self::Rsa { n, e })
            }
            _ => None,
        }
    }

    /// Returns `true` if the `alg` of a JWK denotes this key's algorithm, in JWA or RFC 9421
    /// notation.
    fn is_alg(&self, alg: &str) -> bool {
        let names: &[&str] = match self {
            Self::Ed25519(_) => &["EdDSA", "Ed25519", "ed25519"],
            Self::P256(_) => &["ES256", "ecdsa-p256-sha256"],
            Self::P384(_) => &["ES384", "ecdsa-p384-sha384"],
            Self::Rsa { .. } => &["PS512", "rsa-pss-sha512"],
        };
        names.contains(&alg)
    }

    /// Returns the SHA-256 thumbprint in base64url (RFC 7638 §3, RFC 8037 §2).
    fn thumbprint(&self) -> String {
        let point = |curve: &str, point: &[u8]| {
            let (x, y) = point.get(1..).unwrap_or_default().split_at(point.len() / 2);
            let (x, y) = (BASE64.encode(x), BASE64.encode(y));
            format!(r#"{{"crv":"{curve}","kty":"EC","x":"{x}","y":"{y}"}}"#)
        };
        let json = match self {
            Self::Ed25519(key) => {
                let x = BASE64.encode(key);
                format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#)
            }
            Self::P256(key) => point("P-256", key),
            Self::P384(key) => point("P-384", key),
            Self::Rsa { n, e } => {
                let (n, e) = (BASE64.encode(n), BASE64.encode(e));
                format!(r#"{{"e":"{e}","kty":"RSA","n":"{n}"}}"#)
            }
        };
        BASE64.encode(digest::digest(&digest::SHA256, json.as_bytes()))
    }
}

fn without_zeros(mut bytes: Vec<u8>) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    bytes.drain(..zeros);
    bytes
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a cast from a float saturates, and times are much smaller"
)]
fn seconds(number: f64) -> i64 {
    number as i64
}
