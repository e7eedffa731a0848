-- What was not simply passed, request by request: bounded by number and age.

CREATE TABLE evidence (
    evidence_id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms       INTEGER          NOT NULL,
    -- What it is kept as: redirect, serve, refuse, slow, impostor or violation.
    event       TEXT             NOT NULL,
    site        TEXT             NOT NULL,
    kind        TEXT             NOT NULL,
    -- Empty for people.
    robot       TEXT             NOT NULL,
    verdict     TEXT             NOT NULL,
    decision    TEXT             NOT NULL,
    -- Label of the rule that decided, or a word for what else did.
    cause       TEXT             NOT NULL,
    status      INTEGER          NOT NULL,
    method      TEXT             NOT NULL,
    host        TEXT             NOT NULL,
    -- Without the query; of people a pattern.
    path        TEXT             NOT NULL,
    -- Whole, or as a network such as 203.0.113.0/24; empty where none is kept.
    address     TEXT             NOT NULL,
    user_agent  TEXT             NOT NULL,
    -- Host alone.
    referrer    TEXT             NOT NULL,
    -- What contradicts the claim of an impostor.
    proof       TEXT             NOT NULL,
    -- What is broken of robots.txt: empty, rule or delay.
    broken      TEXT             NOT NULL,
    -- Line of the rule as robots.txt stood then; 0 where a setting refuses the robot.
    line        INTEGER          NOT NULL,
    rule        TEXT             NOT NULL,
    group_line  INTEGER          NOT NULL,
    -- Names of the group.
    agents      TEXT             NOT NULL,
    -- Crawl-delay that is asked for, and time that the robot let pass.
    delay_ms    INTEGER          NOT NULL,
    gap_ms      INTEGER          NOT NULL
) STRICT;
