-- Failed logins, by network of the client: each takes a while to be forgotten.
-- A row that is over is removed, so that the time is all that has to be kept.

CREATE TABLE login_failures (
    client       TEXT    NOT NULL PRIMARY KEY,
    forgotten_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX login_failures_by_end ON login_failures (forgotten_ms);
