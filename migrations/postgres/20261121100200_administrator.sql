-- The administrator: one password, tokens for scripts, sessions.
-- Tokens and session ids are kept as SHA-256 in hexadecimal, never as such.

CREATE TABLE admin_credentials (
    id            BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    password_hash TEXT   NOT NULL,
    changed_ms    BIGINT NOT NULL
);

CREATE TABLE admin_tokens (
    name       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    sha256     TEXT COLLATE "C" NOT NULL UNIQUE,
    created_ms BIGINT NOT NULL
);

CREATE TABLE admin_sessions (
    id_sha256  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    data       TEXT   NOT NULL,
    expires_ms BIGINT NOT NULL
);

CREATE INDEX admin_sessions_by_end ON admin_sessions (expires_ms);
