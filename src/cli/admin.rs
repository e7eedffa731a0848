//! `admin`: manages the administrator password, API tokens and sessions.

use std::{
    io::{self, Read as _},
    process::ExitCode,
};

use crate::clock::Clock;
use crate::operations::{
    Caller, MIN_PASSWORD_CHARS, generate_password, hash_password,
    sessions::{self, Session, Sessions},
    tokens::{self, NewToken, Token, Tokens},
};

use super::{
    Cli,
    args::{AdminCommand, TokenArgs, TokenScopeArg},
    context,
    output::{self, WrongUsage},
};

pub(super) async fn run(cli: &Cli, command: &AdminCommand) -> anyhow::Result<ExitCode> {
    let loaded = context::load(cli)?;
    // Read-only commands and commands with wrong arguments do not create a database file.
    let store = match command {
        AdminCommand::Password { .. } => context::changing_store(&loaded).await?,
        AdminCommand::Token(args) if !args.remove => {
            tokens::check(&request(args), Clock::system().now_ms())?;
            context::changing_store(&loaded).await?
        }
        _ => context::store(&loaded).await?,
    };
    let caller = context::caller(&store);
    match command {
        AdminCommand::Password { generate } => set_password(&caller, *generate).await?,
        AdminCommand::Token(args) if args.remove => {
            tokens::end(&caller, &args.name).await?;
            output::note(&format!("the token {:?} was revoked", args.name));
        }
        AdminCommand::Token(args) => {
            let made = tokens::create(&caller, &request(args)).await?;
            output::line_or_note(made.secret.as_deref().unwrap_or_default());
            output::note(
                "copy the token now, because it will not be shown again. Send it as `Authorization: Bearer TOKEN`. To revoke it, use --remove",
            );
        }
        AdminCommand::Tokens { json } => token_table(&tokens::list(&caller).await?, *json)?,
        AdminCommand::Sessions { end: Some(key), .. } => {
            sessions::end(&caller, key).await?;
            output::note(&format!("session {key} was ended"));
        }
        AdminCommand::Sessions { end_all: true, .. } => {
            let ended = sessions::end_others(&caller, None).await?.ended;
            output::note(&format!("number of sessions ended: {ended}"));
        }
        AdminCommand::Sessions { json, .. } => {
            session_table(&sessions::list(&caller, None).await?, *json)?;
        }
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

fn request(args: &TokenArgs) -> NewToken {
    let scope = match args.scope {
        TokenScopeArg::Read => "read",
        TokenScopeArg::Write => "write",
    };
    NewToken {
        name: args.name.clone(),
        scope: scope.to_owned(),
        ends: args.ends.clone().unwrap_or_default(),
    }
}

async fn set_password(caller: &Caller<'_>, generate: bool) -> anyhow::Result<()> {
    let password = if generate {
        generate_password()
    } else {
        read_password()?
    };
    let hash = hash_password(&password)?;
    let store = caller.store;
    store
        .access()
        .set_password_hash(&hash, caller.now_ms)
        .await?;
    caller.record("password-changed", "administrator", "").await;
    if generate {
        output::line_or_note(&password);
    }
    output::note("the password was set; all sessions were ended");
    Ok(())
}

fn token_table(list: &Tokens, as_json: bool) -> io::Result<()> {
    if as_json {
        return output::json(list);
    }
    let row = |token: &Token| {
        let used = token.used.as_ref().map_or("never", |used| &used.iso);
        let ends = token.ends.as_ref().map_or("no expiry", |ends| &ends.iso);
        vec![
            output::clean(&token.name),
            token.scope.to_owned(),
            token.created.iso.clone(),
            used.to_owned(),
            ends.to_owned(),
        ]
    };
    let header = ["name", "scope", "created", "used", "ends"];
    output::table(&header, &list.tokens.iter().map(row).collect::<Vec<_>>())
}

fn session_table(list: &Sessions, as_json: bool) -> io::Result<()> {
    if as_json {
        return output::json(list);
    }
    let row = |session: &Session| {
        vec![
            session.key.clone(),
            session.begun.iso.clone(),
            session.seen.iso.clone(),
            session.network.clone().unwrap_or_default(),
            output::clean(session.browser.as_deref().unwrap_or_default()),
        ]
    };
    let header = ["key", "started", "seen", "from", "browser"];
    output::table(&header, &list.sessions.iter().map(row).collect::<Vec<_>>())
}

fn read_password() -> anyhow::Result<String> {
    let mut text = String::new();
    // Only one line is read, up to a size limit, because an endless input must not fill the memory.
    io::stdin().take(4_096).read_to_string(&mut text)?;
    let password = text.lines().next().unwrap_or_default();
    if password.chars().count() < MIN_PASSWORD_CHARS {
        anyhow::bail!(WrongUsage(format!(
            "the password read from standard input has fewer than {MIN_PASSWORD_CHARS} characters; to generate a password, use --generate"
        )));
    }
    Ok(password.to_owned())
}
