-- Which pages are asked for: the most frequent paths of an hour (1) or a day (2) in UTC, and patterns
-- with which the rest is counted. Of people patterns only.
CREATE TABLE traffic_paths (
    span          BIGINT           NOT NULL,
    -- Minutes since 1970.
    began         BIGINT           NOT NULL,
    site          TEXT COLLATE "C" NOT NULL,
    -- Empty for people; `other` for robots of which there were too many.
    robot         TEXT COLLATE "C" NOT NULL,
    path          TEXT COLLATE "C" NOT NULL,
    -- 1: a path; 0: a pattern.
    is_path       BIGINT           NOT NULL,
    -- Patterns above it.
    depth         BIGINT           NOT NULL,
    requests      BIGINT           NOT NULL,
    redirects     BIGINT           NOT NULL,
    client_errors BIGINT           NOT NULL,
    server_errors BIGINT           NOT NULL,
    PRIMARY KEY (span, began, site, robot, path)
);

-- How much higher than what is kept the number of one visitor may be.
CREATE TABLE traffic_path_cuts (
    span     BIGINT           NOT NULL,
    began    BIGINT           NOT NULL,
    site     TEXT COLLATE "C" NOT NULL,
    paths    BIGINT           NOT NULL,
    patterns BIGINT           NOT NULL,
    -- Requests of which nobody knows the path.
    skipped  BIGINT           NOT NULL,
    PRIMARY KEY (span, began, site)
);
