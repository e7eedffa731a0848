-- Alerts: what each is about, how it stands, and what its receiver was told last.

CREATE TABLE alerts (
    name       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    -- What is watched, such as impostor.
    watch      TEXT NOT NULL,
    -- Scheme and host of the receiver; the rest of its address is a secret.
    receiver   TEXT NOT NULL,
    -- 1 while what it is about lasts.
    is_firing  BIGINT NOT NULL,
    -- When it last began or ended.
    since_ms   BIGINT NOT NULL,
    -- When it was last seen to last.
    seen_ms    BIGINT NOT NULL,
    -- What was found, one sentence a line.
    findings   TEXT NOT NULL,
    -- 1 where the receiver believes that it lasts.
    is_told    BIGINT NOT NULL,
    -- When the receiver took a message; 0: never.
    told_ms    BIGINT NOT NULL,
    -- Attempts in a row that failed, the last of them, and why.
    failures   BIGINT NOT NULL,
    tried_ms   BIGINT NOT NULL,
    error      TEXT NOT NULL
);

-- The last messages that were sent, or were not taken.
CREATE TABLE alert_attempts (
    attempt_id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at_ms      BIGINT NOT NULL,
    name       TEXT NOT NULL,
    -- What the message was: begun, lasting, ended, report, test.
    event      TEXT NOT NULL,
    -- Empty where the receiver took it.
    error      TEXT NOT NULL
);
