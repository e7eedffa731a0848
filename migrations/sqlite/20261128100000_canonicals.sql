-- URLs that the site's pages say are known by another one, as told to robots that asked for them.

CREATE TABLE canonicals (
    site      TEXT    NOT NULL,
    -- Host and path, without a scheme.
    url       TEXT    NOT NULL,
    canonical TEXT    NOT NULL,
    learnt_ms INTEGER NOT NULL,
    PRIMARY KEY (site, url)
) STRICT, WITHOUT ROWID;

CREATE INDEX canonicals_lead_to ON canonicals (site, canonical);
