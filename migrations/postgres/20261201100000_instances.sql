-- Processes that serve from this database, as they say themselves; all times are the database's.

CREATE TABLE instances (
    -- Number of a start of a process, in hexadecimal; the keys of its leases begin with it.
    instance TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    host     TEXT COLLATE "C" NOT NULL,
    process  BIGINT NOT NULL,
    version  TEXT COLLATE "C" NOT NULL,
    -- Where its health, metrics and console are; empty where it has no listener for them.
    address  TEXT COLLATE "C" NOT NULL,
    since_ms BIGINT NOT NULL,
    seen_ms  BIGINT NOT NULL
);
