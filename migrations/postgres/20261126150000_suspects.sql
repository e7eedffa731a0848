-- Who is flagged as a fleet of robots, or for odd conduct: what each instance says now.

CREATE TABLE suspects (
    -- A name of a process.
    instance TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    at_ms    BIGINT NOT NULL,
    -- JSON.
    flags    TEXT NOT NULL,
    -- What it has seen in this window, in Base64; empty where it is alone.
    sketch   TEXT NOT NULL
);
