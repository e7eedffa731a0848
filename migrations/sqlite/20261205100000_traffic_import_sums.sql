-- What an import has added, so that it can be undone; removed a week later.

CREATE TABLE traffic_import_sums (
    import_id TEXT    NOT NULL,
    -- Minutes since 1970, at which the shortest span of the sum begins.
    began     INTEGER NOT NULL,
    key_id    INTEGER NOT NULL,
    requests  INTEGER NOT NULL,
    bytes     INTEGER NOT NULL,
    micros    INTEGER NOT NULL,
    added_ms  INTEGER NOT NULL,
    PRIMARY KEY (import_id, began, key_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX traffic_import_sums_by_time ON traffic_import_sums (added_ms);
