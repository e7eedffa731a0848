-- Whether robot heaven says of a page what the page says itself, as it was compared last.

CREATE TABLE heaven_parity (
    site        TEXT    NOT NULL,
    url         TEXT    NOT NULL,
    compared_ms INTEGER NOT NULL,
    -- Since when heaven says more, and a sentence of that; nothing: they agree.
    since_ms    INTEGER,
    sentence    TEXT,
    -- 1: it is not shown for that.
    withdrawn   INTEGER NOT NULL,
    PRIMARY KEY (site, url)
) STRICT, WITHOUT ROWID;

CREATE INDEX heaven_parity_differs ON heaven_parity (site, url) WHERE since_ms IS NOT NULL;
