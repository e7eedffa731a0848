-- Robots, and the number that grows when one of them changes.
-- Dates are milliseconds since 1970; patterns, status_detail and facts are JSON.

CREATE TABLE robots (
    source            TEXT    NOT NULL,
    robot_id          TEXT    NOT NULL,
    robot_name        TEXT    NOT NULL,
    robot_details_url TEXT,
    robot_useragent   TEXT    NOT NULL,
    patterns          TEXT    NOT NULL,
    purpose           TEXT    NOT NULL,
    operator          TEXT,
    product_token     TEXT,
    status            TEXT    NOT NULL,
    status_detail     TEXT,
    facts             TEXT    NOT NULL,
    -- Id, name, useragent and operator in lower case, a line each.
    search_text       TEXT    NOT NULL,
    insertion_date    INTEGER NOT NULL,
    modified_date     INTEGER NOT NULL,
    PRIMARY KEY (source, robot_id)
) STRICT;

CREATE INDEX robots_by_id ON robots (robot_id);

CREATE TABLE registry_version (
    id      INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    version INTEGER NOT NULL
) STRICT;

INSERT INTO registry_version (id, version) VALUES (1, 0);
