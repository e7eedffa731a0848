-- Keys that sign the word of visitors that they are people: one for each day, kept for some.

CREATE TABLE way_out_keys (
    -- Days since 1970 in UTC.
    day    BIGINT  NOT NULL PRIMARY KEY,
    secret TEXT    NOT NULL
);
