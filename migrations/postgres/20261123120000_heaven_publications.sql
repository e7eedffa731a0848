-- Which resource descriptions are in force: what a run brings waits until it is published, and
-- what was in force before is kept to be put back.
-- Columns in _ms are milliseconds since 1970.

-- Since when a description is not shown, and why; since when its page does not answer.
ALTER TABLE resource_descriptions ADD COLUMN hidden_ms BIGINT;
ALTER TABLE resource_descriptions ADD COLUMN hidden_reason TEXT;
ALTER TABLE resource_descriptions ADD COLUMN missing_ms BIGINT;

CREATE INDEX resource_descriptions_hidden
    ON resource_descriptions (site, url) WHERE hidden_ms IS NOT NULL;
CREATE INDEX resource_descriptions_missing
    ON resource_descriptions (site, url) WHERE missing_ms IS NOT NULL;

-- What a run brings, until it is in force.
CREATE TABLE staged_descriptions (
    site          TEXT COLLATE "C" NOT NULL,
    url           TEXT COLLATE "C" NOT NULL,
    -- save, hide, remove or miss.
    change        TEXT NOT NULL,
    reason        TEXT,
    run_id        BIGINT NOT NULL,
    fingerprint   TEXT NOT NULL,
    title         TEXT NOT NULL,
    title_key     TEXT COLLATE "C" NOT NULL,
    depth_key     TEXT COLLATE "C" NOT NULL,
    md5           TEXT,
    seen_ms       BIGINT NOT NULL,
    attributes    TEXT NOT NULL,
    partial_text  TEXT,
    full_text     TEXT,
    contents      TEXT,
    PRIMARY KEY (site, url)
);

-- What the last publication replaced. Turn 1: what is being exchanged for it.
CREATE TABLE previous_descriptions (
    site          TEXT COLLATE "C" NOT NULL,
    turn          BIGINT NOT NULL,
    url           TEXT COLLATE "C" NOT NULL,
    -- 0: there was none.
    was_there     BIGINT NOT NULL,
    fingerprint   TEXT,
    title         TEXT,
    title_key     TEXT COLLATE "C",
    depth_key     TEXT COLLATE "C",
    md5           TEXT,
    first_seen_ms BIGINT,
    modified_ms   BIGINT,
    run_id        BIGINT,
    hidden_ms     BIGINT,
    hidden_reason TEXT,
    missing_ms    BIGINT,
    attributes    TEXT,
    partial_text  TEXT,
    full_text     TEXT,
    contents      TEXT,
    PRIMARY KEY (site, turn, url)
);

CREATE TABLE heaven_publications (
    site         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    -- Grows with each change of what is in force.
    version      BIGINT NOT NULL,
    -- Run whose publication can be put back.
    run_id       BIGINT,
    published_ms BIGINT,
    -- When it was put back; nothing: it is in force.
    undone_ms    BIGINT
);

-- Pages that an administrator took out for good.
CREATE TABLE withdrawn_urls (
    site         TEXT COLLATE "C" NOT NULL,
    url          TEXT COLLATE "C" NOT NULL,
    withdrawn_ms BIGINT NOT NULL,
    PRIMARY KEY (site, url)
);

-- Why the results of a run are held back.
ALTER TABLE site_robot_runs ADD COLUMN held TEXT;

-- How a page came to have no description, and whether it asks for a password.
ALTER TABLE site_robot_urls ADD COLUMN loss TEXT;
ALTER TABLE site_robot_urls ADD COLUMN asks_password BIGINT;

