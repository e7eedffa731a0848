-- Alerts: what each is about, how it stands, and what its receiver was told last.

CREATE TABLE alerts (
    name       TEXT NOT NULL PRIMARY KEY,
    -- What is watched, such as impostor.
    watch      TEXT NOT NULL,
    -- Scheme and host of the receiver; the rest of its address is a secret.
    receiver   TEXT NOT NULL,
    -- 1 while what it is about lasts.
    is_firing  INTEGER NOT NULL,
    -- When it last began or ended.
    since_ms   INTEGER NOT NULL,
    -- When it was last seen to last.
    seen_ms    INTEGER NOT NULL,
    -- What was found, one sentence a line.
    findings   TEXT NOT NULL,
    -- 1 where the receiver believes that it lasts.
    is_told    INTEGER NOT NULL,
    -- When the receiver took a message; 0: never.
    told_ms    INTEGER NOT NULL,
    -- Attempts in a row that failed, the last of them, and why.
    failures   INTEGER NOT NULL,
    tried_ms   INTEGER NOT NULL,
    error      TEXT NOT NULL
) STRICT;

-- The last messages that were sent, or were not taken.
CREATE TABLE alert_attempts (
    attempt_id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms      INTEGER NOT NULL,
    name       TEXT NOT NULL,
    -- What the message was: begun, lasting, ended, report, test.
    event      TEXT NOT NULL,
    -- Empty where the receiver took it.
    error      TEXT NOT NULL
) STRICT;
