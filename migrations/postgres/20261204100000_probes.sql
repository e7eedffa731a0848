-- What was seen of the requests by which `doctor` checks a proxy; removed after ten minutes.

CREATE TABLE probes (
    id       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    noted_ms BIGINT NOT NULL,
    note     TEXT COLLATE "C" NOT NULL
);
