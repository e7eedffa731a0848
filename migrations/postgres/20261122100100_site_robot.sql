-- The site robot: its runs, the URLs that it knows (the frontier), and the links of each.
-- Columns in _ms are milliseconds since 1970.

CREATE TABLE site_robot_runs (
    run_id      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    site          TEXT COLLATE "C" NOT NULL,
    -- running, finished, or abandoned for another run.
    state         TEXT NOT NULL,
    -- What those who work on it shall do: run, pause or stop.
    wanted        TEXT NOT NULL,
    -- What the run's decisions depend on: another value asks for whole pages again.
    settings      TEXT NOT NULL,
    started_ms    BIGINT NOT NULL,
    finished_ms   BIGINT,
    found         BIGINT NOT NULL,
    fetched       BIGINT NOT NULL,
    unmodified    BIGINT NOT NULL,
    bytes         BIGINT NOT NULL,
    added         BIGINT NOT NULL,
    changed       BIGINT NOT NULL,
    same          BIGINT NOT NULL,
    withdrawn     BIGINT NOT NULL,
    rejected      BIGINT NOT NULL,
    failed        BIGINT NOT NULL
);

-- A site has one run at a time.
CREATE UNIQUE INDEX site_robot_runs_open ON site_robot_runs (site) WHERE finished_ms IS NULL;
CREATE INDEX site_robot_runs_by_site ON site_robot_runs (site, run_id);

CREATE TABLE site_robot_urls (
    site          TEXT COLLATE "C" NOT NULL,
    url           TEXT COLLATE "C" NOT NULL,
    -- The last run that found it.
    run_id        BIGINT NOT NULL,
    -- 0 waits, 1 is taken by its holder, 2 waits until due_ms, 3 is done.
    state         BIGINT NOT NULL,
    host          TEXT COLLATE "C" NOT NULL,
    depth         BIGINT NOT NULL,
    -- Depth that its links may reach; nothing: any.
    max_depth     BIGINT,
    position      BIGINT NOT NULL,
    -- 1: found nearer to a starting point than when it was fetched; its links count again.
    relink        BIGINT NOT NULL,
    attempts      BIGINT NOT NULL,
    -- 1: it has a resource description.
    described     BIGINT NOT NULL,
    found_on      TEXT NOT NULL,
    holder        TEXT COLLATE "C",
    due_ms        BIGINT,
    fetched_ms    BIGINT,
    status        BIGINT,
    outcome       TEXT,
    etag          TEXT,
    last_modified TEXT,
    content_hash  TEXT,
    settings      TEXT,
    PRIMARY KEY (site, url)
);

CREATE INDEX site_robot_urls_open
    ON site_robot_urls (site, run_id, state, host, depth, position) WHERE state < 3;

CREATE TABLE site_robot_links (
    site          TEXT COLLATE "C" NOT NULL,
    url           TEXT COLLATE "C" NOT NULL,
    -- URLs that were followed, a line each.
    links         TEXT NOT NULL,
    PRIMARY KEY (site, url)
);
