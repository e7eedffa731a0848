-- What is remembered of each source, the history of refreshes, and who refreshes.
-- Columns in _ms are milliseconds since 1970; problems is JSON.

CREATE TABLE sources (
    source         TEXT NOT NULL PRIMARY KEY,
    url            TEXT NOT NULL,
    etag           TEXT,
    last_modified  TEXT,
    content_sha256 TEXT,
    succeeded_ms   INTEGER
) STRICT;

CREATE TABLE refreshes (
    refresh_id   INTEGER PRIMARY KEY AUTOINCREMENT,
    source       TEXT    NOT NULL,
    url          TEXT    NOT NULL,
    triggered_by TEXT    NOT NULL,
    started_ms   INTEGER NOT NULL,
    finished_ms  INTEGER NOT NULL,
    outcome      TEXT    NOT NULL,
    error        TEXT    NOT NULL,
    records      INTEGER NOT NULL,
    added        INTEGER NOT NULL,
    changed      INTEGER NOT NULL,
    removed      INTEGER NOT NULL,
    skipped      INTEGER NOT NULL,
    quarantined  INTEGER NOT NULL,
    unusable     INTEGER NOT NULL,
    problems     TEXT    NOT NULL
) STRICT;

CREATE INDEX refreshes_by_source ON refreshes (source, refresh_id);

CREATE TABLE leases (
    name     TEXT    NOT NULL PRIMARY KEY,
    holder   TEXT    NOT NULL,
    until_ms INTEGER NOT NULL
) STRICT;
