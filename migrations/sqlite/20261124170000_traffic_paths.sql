-- Which pages are asked for: the most frequent paths of an hour (1) or a day (2) in UTC, and patterns
-- with which the rest is counted. Of people patterns only.
CREATE TABLE traffic_paths (
    span          INTEGER NOT NULL,
    -- Minutes since 1970.
    began         INTEGER NOT NULL,
    site          TEXT    NOT NULL,
    -- Empty for people; `other` for robots of which there were too many.
    robot         TEXT    NOT NULL,
    path          TEXT    NOT NULL,
    -- 1: a path; 0: a pattern.
    is_path       INTEGER NOT NULL,
    -- Patterns above it.
    depth         INTEGER NOT NULL,
    requests      INTEGER NOT NULL,
    redirects     INTEGER NOT NULL,
    client_errors INTEGER NOT NULL,
    server_errors INTEGER NOT NULL,
    PRIMARY KEY (span, began, site, robot, path)
) STRICT, WITHOUT ROWID;

-- How much higher than what is kept the number of one visitor may be.
CREATE TABLE traffic_path_cuts (
    span     INTEGER NOT NULL,
    began    INTEGER NOT NULL,
    site     TEXT    NOT NULL,
    paths    INTEGER NOT NULL,
    patterns INTEGER NOT NULL,
    -- Requests of which nobody knows the path.
    skipped  INTEGER NOT NULL,
    PRIMARY KEY (span, began, site)
) STRICT, WITHOUT ROWID;
