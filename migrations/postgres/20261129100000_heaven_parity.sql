-- Whether robot heaven says of a page what the page says itself, as it was compared last.

CREATE TABLE heaven_parity (
    site        TEXT COLLATE "C" NOT NULL,
    url         TEXT COLLATE "C" NOT NULL,
    compared_ms BIGINT NOT NULL,
    -- Since when heaven says more, and a sentence of that; nothing: they agree.
    since_ms    BIGINT,
    sentence    TEXT,
    -- 1: it is not shown for that.
    withdrawn   BIGINT NOT NULL,
    PRIMARY KEY (site, url)
);

CREATE INDEX heaven_parity_differs ON heaven_parity (site, url) WHERE since_ms IS NOT NULL;
