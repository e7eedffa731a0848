-- URLs that IndexNow is still to be told of, and how that went last.

CREATE TABLE index_now_urls (
    site     TEXT COLLATE "C" NOT NULL,
    url      TEXT COLLATE "C" NOT NULL,
    noted_ms BIGINT NOT NULL,
    PRIMARY KEY (site, url)
);

CREATE TABLE index_now (
    site     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    -- When it was told last, how many URLs it took then, and why it did not; nothing: it did.
    told_ms  BIGINT NOT NULL,
    taken    BIGINT NOT NULL,
    failure  TEXT,
    -- Times in a row that it did not, and before when it is not asked again.
    failures BIGINT NOT NULL,
    next_ms  BIGINT NOT NULL
);
