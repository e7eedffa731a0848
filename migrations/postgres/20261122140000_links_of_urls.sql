-- The links of a page stand beside what else is known of it: both are written with each visit.
-- The table is made anew because SQLite's is.

CREATE TABLE site_robot_urls_in_order (
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
    -- URLs that were followed, a line each.
    links         TEXT,
    PRIMARY KEY (site, url)
);

INSERT INTO site_robot_urls_in_order (site, url, run_id, state, host, depth, max_depth, position,
    relink, attempts, described, found_on, holder, due_ms, fetched_ms, status, outcome, etag,
    last_modified, content_hash, settings, links)
SELECT site, url, run_id, state, host, depth, max_depth, position, relink, attempts, described,
    found_on, holder, due_ms, fetched_ms, status, outcome, etag, last_modified, content_hash,
    settings, (SELECT known.links FROM site_robot_links AS known
        WHERE known.site = site_robot_urls.site AND known.url = site_robot_urls.url)
FROM site_robot_urls ORDER BY site, run_id, depth, position;

DROP TABLE site_robot_links;
DROP TABLE site_robot_urls;
ALTER TABLE site_robot_urls_in_order RENAME TO site_robot_urls;

CREATE INDEX site_robot_urls_open
    ON site_robot_urls (site, run_id, state, host, depth, position) WHERE state < 3;
