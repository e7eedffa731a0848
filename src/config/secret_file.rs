//! Secrets in files: `KEY_file` sets a secret's key to what the file holds.

use std::{
    env, fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use super::Value;

/// Prefix of the name of a systemd credential.
const CREDENTIAL: &str = "credential:";

/// Bytes of a secret, at most.
const MAX_BYTES: u64 = 64 * 1024;

/// Reads the secret that the file of this path holds, without the line ends behind it.
///
/// `credential:NAME` is the file NAME in `$CREDENTIALS_DIRECTORY`, which systemd sets (`LoadCredential=`).
///
/// # Errors
///
/// Fails with the path and the reason, never with the content.
pub(super) fn read(path: &Value) -> Result<Value, String> {
    let Value::Text(path) = path else {
        return Err("write the path of the file as a text in quotes".to_owned());
    };
    let file = file(path.trim())?;
    let shown = file.display();
    let mut secret = String::new();
    let opened = fs::File::open(&file)
        .and_then(|opened| opened.take(MAX_BYTES + 1).read_to_string(&mut secret));
    opened.map_err(|error| format!("cannot read the file {shown}: {error}"))?;
    if secret.len() as u64 > MAX_BYTES {
        return Err(format!("the file {shown} is longer than {MAX_BYTES} bytes"));
    }
    let secret = secret.trim_end_matches(['\r', '\n']);
    if secret.is_empty() {
        return Err(format!(
            "the file {shown} is empty; write the secret into it"
        ));
    }
    Ok(Value::Text(secret.to_owned()))
}

fn file(path: &str) -> Result<PathBuf, String> {
    let Some(name) = path.strip_prefix(CREDENTIAL) else {
        return Ok(PathBuf::from(path));
    };
    if name.is_empty() || name.contains('/') {
        return Err(format!(
            "{name:?} is no name of a credential; write {CREDENTIAL}NAME, as in LoadCredential=NAME:PATH"
        ));
    }
    let directory = env::var_os("CREDENTIALS_DIRECTORY")
        .ok_or("CREDENTIALS_DIRECTORY is not set; add LoadCredential= to the systemd unit")?;
    Ok(Path::new(&directory).join(name))
}
