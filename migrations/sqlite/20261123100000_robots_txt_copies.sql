-- The robots.txt of each host as it came last, to ask for another version only.

CREATE TABLE site_robot_robots_txt (
    site          TEXT NOT NULL,
    -- URL of the file.
    url           TEXT NOT NULL,
    etag          TEXT,
    last_modified TEXT,
    body          TEXT NOT NULL,
    PRIMARY KEY (site, url)
) STRICT, WITHOUT ROWID;
