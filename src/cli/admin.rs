//! `admin`: the administrator's password and tokens.

use std::{
    io::{self, Read as _},
    process::ExitCode,
};

use sha2::{Digest as _, Sha256};

use crate::admin::{MIN_PASSWORD_CHARS, generate_password, hash_password};
use crate::clock::Clock;
use crate::store::Store;

use super::{Cli, args::AdminCommand, context, output, usage::WrongUsage};

pub(super) async fn run(cli: &Cli, command: &AdminCommand) -> anyhow::Result<ExitCode> {
    // Before the database is opened, so that a slip leaves no new file behind.
    if let AdminCommand::Token { name, .. } = command
        && name.trim().is_empty()
    {
        anyhow::bail!(WrongUsage(
            "the token's name is empty; name what will use it, such as monitoring".to_owned()
        ));
    }
    let loaded = context::load(cli)?;
    let settings = loaded.settings();
    context::check_database(settings)?;
    let store = Store::connect(&settings.database.url).await?;
    let now_ms = Clock::system().now_ms();
    match command {
        AdminCommand::Password { generate } => {
            let password = if *generate {
                generate_password()
            } else {
                read_password()?
            };
            store
                .set_admin_password_hash(&hash_password(&password)?, now_ms)
                .await?;
            context::record(&store, "password-changed", "administrator", "").await;
            if *generate {
                output::line_or_note(&password);
            }
            output::note("the password is set; all sessions have ended");
        }
        AdminCommand::Token { name, remove: true } => {
            store.remove_admin_token(name).await?;
            output::note(&format!("the token {name:?} is removed"));
        }
        AdminCommand::Token {
            name,
            remove: false,
        } => {
            // Only a digest is stored: whoever reads the database cannot use the tokens. A plain
            // hash is enough, as a random token cannot be guessed as a password can.
            let token = generate_password();
            store
                .add_admin_token(name, &hex::encode(Sha256::digest(&token)), now_ms)
                .await?;
            output::line_or_note(&token);
            output::note(
                "shown this once; use it as `Authorization: Bearer TOKEN`, end it with --remove",
            );
        }
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

fn read_password() -> anyhow::Result<String> {
    let mut text = String::new();
    // A password ends with its line; a terminal or a pipe that never ends must not fill memory.
    io::stdin().take(4_096).read_to_string(&mut text)?;
    let password = text.lines().next().unwrap_or_default();
    if password.chars().count() < MIN_PASSWORD_CHARS {
        anyhow::bail!(WrongUsage(format!(
            "the password on standard input has fewer than {MIN_PASSWORD_CHARS} characters; --generate makes one"
        )));
    }
    Ok(password.to_owned())
}
