-- Processes that serve from this database, as they say themselves; all times are the database's.

CREATE TABLE instances (
    -- Number of a start of a process, in hexadecimal; the keys of its leases begin with it.
    instance TEXT    NOT NULL PRIMARY KEY,
    host     TEXT    NOT NULL,
    process  INTEGER NOT NULL,
    version  TEXT    NOT NULL,
    -- Where its health, metrics and console are; empty where it has no listener for them.
    address  TEXT    NOT NULL,
    since_ms INTEGER NOT NULL,
    seen_ms  INTEGER NOT NULL
) STRICT;
