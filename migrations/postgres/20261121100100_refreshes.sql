-- What is remembered of each source, the history of refreshes, and who refreshes.
-- Columns in _ms are milliseconds since 1970; problems is JSON.

CREATE TABLE sources (
    source         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    url            TEXT NOT NULL,
    etag           TEXT,
    last_modified  TEXT,
    content_sha256 TEXT,
    succeeded_ms   BIGINT
);

CREATE TABLE refreshes (
    refresh_id   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source       TEXT COLLATE "C" NOT NULL,
    url          TEXT   NOT NULL,
    triggered_by TEXT   NOT NULL,
    started_ms   BIGINT NOT NULL,
    finished_ms  BIGINT NOT NULL,
    outcome      TEXT   NOT NULL,
    error        TEXT   NOT NULL,
    records      BIGINT NOT NULL,
    added        BIGINT NOT NULL,
    changed      BIGINT NOT NULL,
    removed      BIGINT NOT NULL,
    skipped      BIGINT NOT NULL,
    quarantined  BIGINT NOT NULL,
    unusable     BIGINT NOT NULL,
    problems     TEXT   NOT NULL
);

CREATE INDEX refreshes_by_source ON refreshes (source, refresh_id);

CREATE TABLE leases (
    name     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    holder   TEXT COLLATE "C" NOT NULL,
    until_ms BIGINT NOT NULL
);
