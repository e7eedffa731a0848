//! `admin`: the administrator's password, tokens and sessions.

use std::{
    io::{self, Read as _},
    process::ExitCode,
};

use serde_json::json;

use crate::admin::{
    MIN_PASSWORD_CHARS, SessionView, TokenView, check_name, digest, generate_password,
    hash_password, parse_end,
};
use crate::clock::Clock;
use crate::store::{AdminToken, AuditEntry, Store, TokenScope};

use super::{
    Cli,
    args::{AdminCommand, TokenArgs, TokenScopeArg},
    context, output,
    usage::WrongUsage,
};

pub(super) async fn run(cli: &Cli, command: &AdminCommand) -> anyhow::Result<ExitCode> {
    let now_ms = Clock::system().now_ms();
    // Before the database is opened, so that a slip leaves no new file behind.
    let token = match command {
        AdminCommand::Token(args) => Some(token(args, now_ms)?),
        _ => None,
    };
    let loaded = context::load(cli)?;
    let settings = loaded.settings();
    // A command that only asks leaves no file behind.
    if let AdminCommand::Tokens { .. } | AdminCommand::Sessions { .. } = command {
        let store = context::store(&loaded).await?;
        list(&store, command, now_ms).await?;
        store.close().await;
        return Ok(ExitCode::SUCCESS);
    }
    context::check_database(settings)?;
    let store = Store::connect(&settings.database.url).await?;
    match (command, token) {
        (AdminCommand::Password { generate }, _) => set_password(&store, *generate, now_ms).await?,
        (AdminCommand::Token(TokenArgs { name, remove, .. }), _) if *remove => {
            store.remove_admin_token(name).await?;
            record(&store, now_ms, "token-ended", name, "").await?;
            output::note(&format!("the token {name:?} is removed"));
        }
        (_, Some(token)) => make_token(&store, &token).await?,
        _ => {}
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

fn token(args: &TokenArgs, now_ms: i64) -> Result<AdminToken, WrongUsage> {
    let name = check_name(&args.name).map_err(WrongUsage)?;
    let scope = match args.scope {
        TokenScopeArg::Read => TokenScope::Read,
        TokenScopeArg::Write => TokenScope::Write,
    };
    let ends = args.ends.as_deref().unwrap_or_default();
    let ends_ms = parse_end(ends, now_ms).map_err(WrongUsage)?;
    Ok(AdminToken::new(name, now_ms).scope(scope).ends_ms(ends_ms))
}

async fn set_password(store: &Store, generate: bool, now_ms: i64) -> anyhow::Result<()> {
    let password = if generate {
        generate_password()
    } else {
        read_password()?
    };
    store
        .set_admin_password_hash(&hash_password(&password)?, now_ms)
        .await?;
    context::record(store, "password-changed", "administrator", "").await;
    if generate {
        output::line_or_note(&password);
    }
    output::note("the password is set; all sessions have ended");
    Ok(())
}

async fn make_token(store: &Store, token: &AdminToken) -> anyhow::Result<()> {
    // Only a digest is stored: whoever reads the database cannot use the tokens.
    let secret = generate_password();
    store.add_admin_token(token, &digest(&secret)).await?;
    let scope = format!("scope {}", token.scope.as_str());
    record(store, token.created_ms, "token-made", &token.name, &scope).await?;
    output::line_or_note(&secret);
    output::note("shown this once; use it as `Authorization: Bearer TOKEN`, end it with --remove");
    Ok(())
}

async fn list(store: &Store, command: &AdminCommand, now_ms: i64) -> anyhow::Result<()> {
    match command {
        AdminCommand::Sessions { end: Some(key), .. } => {
            store.end_session(key, now_ms).await?;
            record(store, now_ms, "session-ended", key, "").await?;
            output::note(&format!("the session {key} has ended"));
        }
        AdminCommand::Sessions { end_all: true, .. } => {
            let ended = store.end_other_sessions(None).await?;
            let detail = format!("{ended} sessions");
            record(store, now_ms, "sessions-ended", "all", &detail).await?;
            output::note(&format!("all sessions have ended: {ended}"));
        }
        AdminCommand::Sessions { json, .. } => {
            let stored = store.sessions(now_ms).await?;
            let view = |stored| SessionView::new(stored, None, now_ms);
            let views: Vec<_> = stored.iter().map(view).collect();
            if *json {
                output::json(&json!({ "sessions": views }))?;
            } else {
                session_table(&views)?;
            }
        }
        AdminCommand::Tokens { json } => {
            let tokens = store.admin_tokens().await?;
            let views: Vec<_> = tokens.iter().map(|it| TokenView::new(it, now_ms)).collect();
            if *json {
                output::json(&json!({ "tokens": views }))?;
            } else {
                token_table(&views)?;
            }
        }
        AdminCommand::Password { .. } | AdminCommand::Token(_) => {}
    }
    Ok(())
}

fn token_table(tokens: &[TokenView]) -> io::Result<()> {
    let row = |token: &TokenView| {
        let used = token.used.as_ref().map_or("never", |used| &used.iso);
        let ends = token.ends.as_ref().map_or("lasting", |ends| &ends.iso);
        vec![
            output::clean(&token.name),
            token.scope.to_owned(),
            token.created.iso.clone(),
            used.to_owned(),
            ends.to_owned(),
        ]
    };
    let header = ["name", "scope", "made", "used", "ends"];
    output::table(&header, &tokens.iter().map(row).collect::<Vec<_>>())
}

fn session_table(sessions: &[SessionView]) -> io::Result<()> {
    let row = |session: &SessionView| {
        vec![
            session.key.clone(),
            session.begun.iso.clone(),
            session.seen.iso.clone(),
            session.network.clone().unwrap_or_default(),
            output::clean(session.browser.as_deref().unwrap_or_default()),
        ]
    };
    let header = ["key", "begun", "seen", "from", "browser"];
    output::table(&header, &sessions.iter().map(row).collect::<Vec<_>>())
}

async fn record(
    store: &Store,
    at_ms: i64,
    event: &str,
    subject: &str,
    detail: &str,
) -> anyhow::Result<()> {
    let entry = AuditEntry {
        at_ms,
        actor: "command line".to_owned(),
        event: event.to_owned(),
        subject: subject.to_owned(),
        detail: detail.to_owned(),
    };
    Ok(store.record_audit(&entry).await?)
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
