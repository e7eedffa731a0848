-- What is counted of visitors: requests, bytes and time, without an address.

-- What is counted apart. The id is made from the rest, so that every instance has the same.
CREATE TABLE traffic_keys (
    key_id   BIGINT           NOT NULL PRIMARY KEY,
    site     TEXT COLLATE "C" NOT NULL,
    kind     TEXT COLLATE "C" NOT NULL,
    -- Empty for people.
    robot    TEXT COLLATE "C" NOT NULL,
    verdict  TEXT COLLATE "C" NOT NULL,
    decision TEXT COLLATE "C" NOT NULL,
    -- Label of the rule that decided, or a word for what else did.
    cause    TEXT COLLATE "C" NOT NULL,
    -- Class of the status: 2 for 200 to 299; 0 for none of the five.
    status   BIGINT           NOT NULL
);

-- Sums of a minute (0), an hour (1) or a day (2) in UTC; each request is in one of each.
CREATE TABLE traffic_counts (
    span     BIGINT NOT NULL,
    -- Minutes since 1970.
    began    BIGINT NOT NULL,
    key_id   BIGINT NOT NULL,
    requests BIGINT NOT NULL,
    bytes    BIGINT NOT NULL,
    -- Microseconds from the head of a request to the end of its response.
    micros   BIGINT NOT NULL,
    PRIMARY KEY (span, began, key_id)
);

-- The last batch of each writer that is in the sums: one whose end was not heard of is not
-- added twice.
CREATE TABLE traffic_writers (
    writer  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    batch   BIGINT           NOT NULL,
    seen_ms BIGINT           NOT NULL
);

-- Minutes in which a server counted the requests of a site, so that no log is counted beside.
CREATE TABLE traffic_live (
    site   TEXT COLLATE "C" NOT NULL,
    writer TEXT COLLATE "C" NOT NULL,
    began  BIGINT           NOT NULL,
    -- The last minute.
    ended  BIGINT           NOT NULL,
    PRIMARY KEY (site, writer)
);

-- Logs that were counted, by their beginnings: one that has grown since, or was packed, is the same.
CREATE TABLE traffic_imports (
    -- Hash of the first lines when it was first seen.
    import_id  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    -- Hash of the first line, and of as many bytes at the beginning as `head_bytes` says.
    first_line TEXT COLLATE "C" NOT NULL,
    head_bytes BIGINT           NOT NULL,
    head       TEXT COLLATE "C" NOT NULL,
    name       TEXT             NOT NULL,
    -- Bytes, unpacked, that have been counted.
    counted    BIGINT           NOT NULL,
    requests   BIGINT           NOT NULL,
    updated_ms BIGINT           NOT NULL
);

CREATE INDEX traffic_imports_by_line ON traffic_imports (first_line);
