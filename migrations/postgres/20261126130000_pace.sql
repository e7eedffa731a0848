-- What the instances of a fleet have served, so that they share the pace of a rule.

-- Token buckets that are not full. A server that crashes may forget them.
CREATE UNLOGGED TABLE pace (
    -- Hashes: of the rule with its site, and of who is slowed.
    rule       BIGINT NOT NULL,
    bucket     BIGINT NOT NULL,
    -- When it is full again, in microseconds since 1970 by the clock of the database.
    full_us    BIGINT NOT NULL,
    -- What was taken from it last.
    added_us   BIGINT NOT NULL,
    changed_ms BIGINT NOT NULL,
    PRIMARY KEY (rule, bucket)
);

CREATE INDEX pace_changed ON pace (changed_ms);

-- Seed of the hashes that instances share, which nobody else knows.
CREATE TABLE fleet_seed (
    id     BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    first  BIGINT NOT NULL,
    second BIGINT NOT NULL
);
