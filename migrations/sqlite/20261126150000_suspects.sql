-- Who is flagged as a fleet of robots, or for odd conduct: what each instance says now, as JSON.

CREATE TABLE suspects (
    -- A name of a process.
    instance TEXT    NOT NULL PRIMARY KEY,
    at_ms    INTEGER NOT NULL,
    flags    TEXT    NOT NULL
) STRICT;
