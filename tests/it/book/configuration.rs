//! Configurations in the documents: `serve` accepts each one.

use std::fs;

use regex::Regex;
use robot_detection::{
    app::{self, ServerSettings},
    config::{ConfigErrors, Loader},
};
use tempfile::TempDir;

use super::page::{Block, pages, root};

fn is_manifest(block: &Block) -> bool {
    block.text.starts_with("[dependencies]")
}

/// Returns `true` if this program has the feature that the block needs.
fn is_for_us(block: &Block) -> bool {
    match block.note("needs the feature ") {
        Some("acme") => cfg!(feature = "acme"),
        Some(feature) => panic!("unknown feature {feature}?"),
        None => true,
    }
}

/// Creates the certificate and secret files that configurations refer to.
fn certificates() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["example.com".to_owned()]).unwrap();
    let files = [
        ("fullchain.pem", made.cert.pem()),
        ("privkey.pem", made.signing_key.serialize_pem()),
        ("site-robot.password", "open sesame".to_owned()),
        ("check-token", "a secret".to_owned()),
        ("database-url", "sqlite://robots.db".to_owned()),
    ];
    for (name, pem) in files {
        fs::write(directory.path().join(name), pem).unwrap();
    }
    directory
}

/// Runs all checks that `serve` runs before it opens any resource.
fn judge(name: &str, text: &str) -> Result<(), ConfigErrors> {
    let loaded = Loader::new().file(name, text).load()?;
    ServerSettings::new(&loaded, false)?;
    app::assemble(&loaded).map(drop)?;
    app::policy(&loaded)?;
    Ok(())
}

#[test]
fn configurations_are_accepted_by_the_program() {
    let certificates = certificates();
    let certificates = format!("{}/", certificates.path().display());
    let password = format!("{certificates}site-robot");
    let secrets = Regex::new("/run/secrets/|credential:").unwrap();
    let mut wrong = Vec::new();
    let mut judged = 0;
    for page in pages() {
        for block in page.blocks() {
            if block.language == "toml" && !is_manifest(&block) && is_for_us(&block) {
                judged += 1;
                let name = format!("{}:{}", page.name(), block.line);
                let text = block.text.replace("/etc/ssl/example.com/", &certificates);
                let text = text.replace("/etc/robot-detection/site-robot", &password);
                let text = text.replace("conf.d/", &certificates);
                let text = secrets.replace_all(&text, &certificates);
                wrong.extend(judge(&name, &text).err().map(|error| error.to_string()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(judged > 15, "only {judged} configurations found");
}

#[test]
fn dependencies_use_our_version_and_features() {
    let ours = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let quoted = |text: &str, behind: &str| {
        let (_, rest) = text.split_once(behind)?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    let our_version = quoted(&ours, "\nversion = \"").unwrap();
    let mut found = 0;
    for page in pages() {
        for block in page.blocks().iter().filter(|block| is_manifest(block)) {
            found += 1;
            let version = quoted(&block.text, "version = \"").unwrap();
            assert!(our_version.starts_with(&version), "{}", page.name());
            let feature = quoted(&block.text, "features = [\"").unwrap();
            let is_ours = ours.contains(&format!("\n{feature} = ["));
            assert!(is_ours, "{}: {feature}", page.name());
        }
    }
    assert!(found > 0, "no manifest was found");
}
