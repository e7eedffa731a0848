-- The site robot: its runs, the URLs that it knows (the frontier), and the links of each.
-- Columns in _ms are milliseconds since 1970.

CREATE TABLE site_robot_runs (
    run_id      INTEGER PRIMARY KEY AUTOINCREMENT,
    site        TEXT    NOT NULL,
    -- running, finished, or abandoned for another run.
    state       TEXT    NOT NULL,
    -- What those who work on it shall do: run, pause or stop.
    wanted      TEXT    NOT NULL,
    -- What the run's decisions depend on: another value asks for whole pages again.
    settings    TEXT    NOT NULL,
    started_ms  INTEGER NOT NULL,
    finished_ms INTEGER,
    found       INTEGER NOT NULL,
    fetched     INTEGER NOT NULL,
    unmodified  INTEGER NOT NULL,
    bytes       INTEGER NOT NULL,
    added       INTEGER NOT NULL,
    changed     INTEGER NOT NULL,
    same        INTEGER NOT NULL,
    withdrawn   INTEGER NOT NULL,
    rejected    INTEGER NOT NULL,
    failed      INTEGER NOT NULL
) STRICT;

-- A site has one run at a time.
CREATE UNIQUE INDEX site_robot_runs_open ON site_robot_runs (site) WHERE finished_ms IS NULL;
CREATE INDEX site_robot_runs_by_site ON site_robot_runs (site, run_id);

CREATE TABLE site_robot_urls (
    site          TEXT    NOT NULL,
    url           TEXT    NOT NULL,
    -- The last run that found it.
    run_id        INTEGER NOT NULL,
    -- 0 waits, 1 is taken by its holder, 2 waits until due_ms, 3 is done.
    state         INTEGER NOT NULL,
    host          TEXT    NOT NULL,
    depth         INTEGER NOT NULL,
    -- Depth that its links may reach; nothing: any.
    max_depth     INTEGER,
    position      INTEGER NOT NULL,
    -- 1: found nearer to a starting point than when it was fetched; its links count again.
    relink        INTEGER NOT NULL,
    attempts      INTEGER NOT NULL,
    -- 1: it has a resource description.
    described     INTEGER NOT NULL,
    found_on      TEXT    NOT NULL,
    holder        TEXT,
    due_ms        INTEGER,
    fetched_ms    INTEGER,
    status        INTEGER,
    outcome       TEXT,
    etag          TEXT,
    last_modified TEXT,
    content_hash  TEXT,
    settings      TEXT,
    PRIMARY KEY (site, url)
) STRICT, WITHOUT ROWID;

CREATE INDEX site_robot_urls_open
    ON site_robot_urls (site, run_id, state, host, depth, position) WHERE state < 3;

CREATE TABLE site_robot_links (
    site  TEXT NOT NULL,
    url   TEXT NOT NULL,
    -- URLs that were followed, a line each.
    links TEXT NOT NULL,
    PRIMARY KEY (site, url)
) STRICT;
