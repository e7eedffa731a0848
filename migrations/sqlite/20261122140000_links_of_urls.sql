-- The links of a page stand beside what else is known of it: both are written with each visit.
-- Rows stand in the order that URLs are found, and mostly visited, in: those that one
-- transaction writes stand together. In the order of URLs each stood by itself.

CREATE TABLE site_robot_urls_in_order (
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
    -- URLs that were followed, a line each.
    links         TEXT,
    PRIMARY KEY (site, url)
) STRICT;

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
