-- What is counted of visitors: requests, bytes and time, without an address.

-- What is counted apart. The id is made from the rest, so that every instance has the same.
CREATE TABLE traffic_keys (
    key_id   INTEGER NOT NULL PRIMARY KEY,
    site     TEXT    NOT NULL,
    kind     TEXT    NOT NULL,
    -- Empty for people.
    robot    TEXT    NOT NULL,
    verdict  TEXT    NOT NULL,
    decision TEXT    NOT NULL,
    -- Label of the rule that decided, or a word for what else did.
    cause    TEXT    NOT NULL,
    -- Class of the status: 2 for 200 to 299; 0 for none of the five.
    status   INTEGER NOT NULL
) STRICT;

-- Sums of a minute (0), an hour (1) or a day (2) in UTC; each request is in one of each.
CREATE TABLE traffic_counts (
    span     INTEGER NOT NULL,
    -- Minutes since 1970.
    began    INTEGER NOT NULL,
    key_id   INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    bytes    INTEGER NOT NULL,
    -- Microseconds from the head of a request to the end of its response.
    micros   INTEGER NOT NULL,
    PRIMARY KEY (span, began, key_id)
) STRICT, WITHOUT ROWID;

-- The last batch of each writer that is in the sums: one whose end was not heard of is not
-- added twice.
CREATE TABLE traffic_writers (
    writer  TEXT    NOT NULL PRIMARY KEY,
    batch   INTEGER NOT NULL,
    seen_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Minutes in which a server counted the requests of a site, so that no log is counted beside.
CREATE TABLE traffic_live (
    site   TEXT    NOT NULL,
    writer TEXT    NOT NULL,
    began  INTEGER NOT NULL,
    -- The last minute.
    ended  INTEGER NOT NULL,
    PRIMARY KEY (site, writer)
) STRICT, WITHOUT ROWID;

-- Logs that were counted, by their beginnings: one that has grown since, or was packed, is the same.
CREATE TABLE traffic_imports (
    -- Hash of the first lines when it was first seen.
    import_id  TEXT    NOT NULL PRIMARY KEY,
    -- Hash of the first line, and of as many bytes at the beginning as `head_bytes` says.
    first_line TEXT    NOT NULL,
    head_bytes INTEGER NOT NULL,
    head       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    -- Bytes, unpacked, that have been counted.
    counted    INTEGER NOT NULL,
    requests   INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX traffic_imports_by_line ON traffic_imports (first_line);
