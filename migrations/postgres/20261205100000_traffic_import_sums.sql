-- What an import has added, so that it can be undone; removed a week later.

CREATE TABLE traffic_import_sums (
    import_id TEXT COLLATE "C" NOT NULL,
    -- Minutes since 1970, at which the shortest span of the sum begins.
    began     BIGINT NOT NULL,
    key_id    BIGINT NOT NULL,
    requests  BIGINT NOT NULL,
    bytes     BIGINT NOT NULL,
    micros    BIGINT NOT NULL,
    added_ms  BIGINT NOT NULL,
    PRIMARY KEY (import_id, began, key_id)
);

CREATE INDEX traffic_import_sums_by_time ON traffic_import_sums (added_ms);
