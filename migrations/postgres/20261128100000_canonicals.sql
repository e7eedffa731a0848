-- URLs that the site's pages say are known by another one, as told to robots that asked for them.

CREATE TABLE canonicals (
    site      TEXT COLLATE "C" NOT NULL,
    -- Host and path, without a scheme.
    url       TEXT COLLATE "C" NOT NULL,
    canonical TEXT COLLATE "C" NOT NULL,
    learnt_ms BIGINT NOT NULL,
    PRIMARY KEY (site, url)
);

CREATE INDEX canonicals_lead_to ON canonicals (site, canonical);
