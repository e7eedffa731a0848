-- Lists of address ranges that operators publish: the last good copy of each, and how
-- the last attempts to get it went.
-- Columns in _ms are milliseconds since 1970; prefixes has one a line.

CREATE TABLE address_ranges (
    -- With its fragment, which selects a part of the document.
    url           TEXT    NOT NULL PRIMARY KEY,
    prefixes      TEXT,
    created       TEXT,
    unreadable    INTEGER NOT NULL,
    etag          TEXT,
    last_modified TEXT,
    -- By which rules the document was read: a program with others reads it again.
    rules         INTEGER NOT NULL,
    fetched_ms    INTEGER,
    checked_ms    INTEGER,
    tried_ms      INTEGER,
    failures      INTEGER NOT NULL,
    error         TEXT
) STRICT;
