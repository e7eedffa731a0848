-- Who is flagged as a fleet of robots, or for odd conduct: what each instance says now, as JSON.

CREATE TABLE suspects (
    -- A name of a process.
    instance TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    at_ms    BIGINT NOT NULL,
    flags    TEXT NOT NULL
);
