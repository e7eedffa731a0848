//! Measures npm isbot in Node.js on the same lists.

use std::{env, path::Path, process::Command};

use crate::{Result, mixes::Mix, timing::Row};

/// Returns the times of npm isbot in Node.js (`NODE`, or `node` by default).
pub fn isbot(corpora: &Path, mixes: &[Mix]) -> Result<Row> {
    let module = corpora.join("lists/isbot.mjs").canonicalize()?;
    let node = env::var("NODE").unwrap_or_else(|_| "node".to_owned());
    let output = Command::new(node)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/isbot.mjs"))
        .arg(module)
        .args(mixes.iter().map(|mix| mix.path(&corpora.join("lists"))))
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let mut row = Row::new("npm isbot in Node.js");
    for line in String::from_utf8(output.stdout)?.lines() {
        row.nanoseconds.push(line.parse()?);
    }
    Ok(row)
}
