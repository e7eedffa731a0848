-- The administrator: one password, tokens for scripts, sessions.
-- Tokens and session ids are kept as SHA-256 in hexadecimal, never as such.

CREATE TABLE admin_credentials (
    id            INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    password_hash TEXT    NOT NULL,
    changed_ms    INTEGER NOT NULL
) STRICT;

CREATE TABLE admin_tokens (
    name       TEXT    NOT NULL PRIMARY KEY,
    sha256     TEXT    NOT NULL UNIQUE,
    created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE admin_sessions (
    id_sha256  TEXT    NOT NULL PRIMARY KEY,
    data       TEXT    NOT NULL,
    expires_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX admin_sessions_by_end ON admin_sessions (expires_ms);
