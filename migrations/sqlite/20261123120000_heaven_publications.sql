-- Which resource descriptions are in force: what a run brings waits until it is published, and
-- what was in force before is kept to be put back.
-- Columns in _ms are milliseconds since 1970.

-- Since when a description is not shown, and why; since when its page does not answer.
ALTER TABLE resource_descriptions ADD COLUMN hidden_ms INTEGER;
ALTER TABLE resource_descriptions ADD COLUMN hidden_reason TEXT;
ALTER TABLE resource_descriptions ADD COLUMN missing_ms INTEGER;

CREATE INDEX resource_descriptions_hidden
    ON resource_descriptions (site, url) WHERE hidden_ms IS NOT NULL;
CREATE INDEX resource_descriptions_missing
    ON resource_descriptions (site, url) WHERE missing_ms IS NOT NULL;

-- What a run brings, until it is in force.
CREATE TABLE staged_descriptions (
    site          TEXT    NOT NULL,
    url           TEXT    NOT NULL,
    -- save, hide, remove or miss.
    change        TEXT    NOT NULL,
    reason        TEXT,
    run_id        INTEGER NOT NULL,
    fingerprint   TEXT    NOT NULL,
    title         TEXT    NOT NULL,
    title_key     TEXT    NOT NULL,
    depth_key     TEXT    NOT NULL,
    md5           TEXT,
    seen_ms       INTEGER NOT NULL,
    attributes    TEXT    NOT NULL,
    partial_text  TEXT,
    full_text     TEXT,
    contents      TEXT,
    PRIMARY KEY (site, url)
) STRICT;

-- What the last publication replaced. Turn 1: what is being exchanged for it.
CREATE TABLE previous_descriptions (
    site          TEXT    NOT NULL,
    turn          INTEGER NOT NULL,
    url           TEXT    NOT NULL,
    -- 0: there was none.
    was_there     INTEGER NOT NULL,
    fingerprint   TEXT,
    title         TEXT,
    title_key     TEXT,
    depth_key     TEXT,
    md5           TEXT,
    first_seen_ms INTEGER,
    modified_ms   INTEGER,
    run_id        INTEGER,
    hidden_ms     INTEGER,
    hidden_reason TEXT,
    missing_ms    INTEGER,
    attributes    TEXT,
    partial_text  TEXT,
    full_text     TEXT,
    contents      TEXT,
    PRIMARY KEY (site, turn, url)
) STRICT;

CREATE TABLE heaven_publications (
    site         TEXT    NOT NULL PRIMARY KEY,
    -- Grows with each change of what is in force.
    version      INTEGER NOT NULL,
    -- Run whose publication can be put back.
    run_id       INTEGER,
    published_ms INTEGER,
    -- When it was put back; nothing: it is in force.
    undone_ms    INTEGER
) STRICT;

-- Pages that an administrator took out for good.
CREATE TABLE withdrawn_urls (
    site         TEXT    NOT NULL,
    url          TEXT    NOT NULL,
    withdrawn_ms INTEGER NOT NULL,
    PRIMARY KEY (site, url)
) STRICT;

-- Why the results of a run are held back.
ALTER TABLE site_robot_runs ADD COLUMN held TEXT;

-- How a page came to have no description, and whether it asks for a password.
ALTER TABLE site_robot_urls ADD COLUMN loss TEXT;
ALTER TABLE site_robot_urls ADD COLUMN asks_password INTEGER;

