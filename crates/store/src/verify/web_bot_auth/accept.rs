//! How a refusal asks for a signature.

/// Value of `Accept-Signature` on a refusal (RFC 9421 §5.1).
///
/// It asks for a signature that [`SignatureProver`](super::SignatureProver)
/// accepts, and that holds for the one request alone. The draft says to send
/// it with 403.
pub const ACCEPT_SIGNATURE: &str = "sig1=(\"@authority\" \"@method\" \"@path\" \"@query\" \
     \"signature-agent\";key=\"sig1\");created;expires;keyid;nonce;tag=\"web-bot-auth\"";
