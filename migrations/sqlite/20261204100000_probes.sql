-- What was seen of the requests by which `doctor` checks a proxy; removed after ten minutes.

CREATE TABLE probes (
    id       TEXT    NOT NULL PRIMARY KEY,
    noted_ms INTEGER NOT NULL,
    note     TEXT    NOT NULL
) STRICT;
