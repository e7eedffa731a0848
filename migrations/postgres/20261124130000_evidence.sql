-- What was not simply passed, request by request: bounded by number and age.

CREATE TABLE evidence (
    evidence_id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at_ms       BIGINT           NOT NULL,
    -- What it is kept as: redirect, serve, refuse, slow, impostor or violation.
    event       TEXT COLLATE "C" NOT NULL,
    site        TEXT COLLATE "C" NOT NULL,
    kind        TEXT COLLATE "C" NOT NULL,
    -- Empty for people.
    robot       TEXT COLLATE "C" NOT NULL,
    verdict     TEXT COLLATE "C" NOT NULL,
    decision    TEXT COLLATE "C" NOT NULL,
    -- Label of the rule that decided, or a word for what else did.
    cause       TEXT COLLATE "C" NOT NULL,
    status      BIGINT           NOT NULL,
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
    broken      TEXT COLLATE "C" NOT NULL,
    -- Line of the rule as robots.txt stood then; 0 where a setting refuses the robot.
    line        BIGINT           NOT NULL,
    rule        TEXT             NOT NULL,
    group_line  BIGINT           NOT NULL,
    -- Names of the group.
    agents      TEXT             NOT NULL,
    -- Crawl-delay that is asked for, and time that the robot let pass.
    delay_ms    BIGINT           NOT NULL,
    gap_ms      BIGINT           NOT NULL
);
