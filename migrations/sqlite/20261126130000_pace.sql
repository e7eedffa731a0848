-- What the instances of a fleet have served, so that they share the pace of a rule.

-- Token buckets that are not full.
CREATE TABLE pace (
    -- Hashes: of the rule with its site, and of who is slowed.
    rule       INTEGER NOT NULL,
    bucket     INTEGER NOT NULL,
    -- When it is full again, in microseconds since 1970 by the clock of the database.
    full_us    INTEGER NOT NULL,
    -- What was taken from it last.
    added_us   INTEGER NOT NULL,
    changed_ms INTEGER NOT NULL,
    PRIMARY KEY (rule, bucket)
) STRICT, WITHOUT ROWID;

CREATE INDEX pace_changed ON pace (changed_ms);

-- Seed of the hashes that instances share, which nobody else knows.
CREATE TABLE fleet_seed (
    id     INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    first  INTEGER NOT NULL,
    second INTEGER NOT NULL
) STRICT;
