-- Lists of address ranges that operators publish: the last good copy of each, and how
-- the last attempts to get it went.
-- Columns in _ms are milliseconds since 1970; prefixes has one a line.

CREATE TABLE address_ranges (
    -- With its fragment, which selects a part of the document.
    url           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    prefixes      TEXT,
    created       TEXT,
    unreadable    BIGINT NOT NULL,
    etag          TEXT,
    last_modified TEXT,
    -- By which rules the document was read: a program with others reads it again.
    rules         BIGINT NOT NULL,
    fetched_ms    BIGINT,
    checked_ms    BIGINT,
    tried_ms      BIGINT,
    failures      BIGINT NOT NULL,
    error         TEXT
);
