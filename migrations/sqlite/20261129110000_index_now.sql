-- URLs that IndexNow is still to be told of, and how that went last.

CREATE TABLE index_now_urls (
    site     TEXT    NOT NULL,
    url      TEXT    NOT NULL,
    noted_ms INTEGER NOT NULL,
    PRIMARY KEY (site, url)
) STRICT, WITHOUT ROWID;

CREATE TABLE index_now (
    site     TEXT    NOT NULL PRIMARY KEY,
    -- When it was told last, how many URLs it took then, and why it did not; nothing: it did.
    told_ms  INTEGER NOT NULL,
    taken    INTEGER NOT NULL,
    failure  TEXT,
    -- Times in a row that it did not, and before when it is not asked again.
    failures INTEGER NOT NULL,
    next_ms  INTEGER NOT NULL
) STRICT;
