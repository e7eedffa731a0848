-- Robots, and the number that grows when one of them changes.
-- Dates are milliseconds since 1970; patterns, status_detail and facts are JSON.
-- COLLATE "C" sorts as SQLite does, whatever the locale of the database.

CREATE TABLE robots (
    source            TEXT COLLATE "C" NOT NULL,
    robot_id          TEXT COLLATE "C" NOT NULL,
    robot_name        TEXT COLLATE "C" NOT NULL,
    robot_details_url TEXT COLLATE "C",
    robot_useragent   TEXT COLLATE "C" NOT NULL,
    patterns          TEXT COLLATE "C" NOT NULL,
    purpose           TEXT COLLATE "C" NOT NULL,
    operator          TEXT COLLATE "C",
    product_token     TEXT COLLATE "C",
    status            TEXT COLLATE "C" NOT NULL,
    status_detail     TEXT COLLATE "C",
    facts             TEXT COLLATE "C" NOT NULL,
    -- Id, name, useragent and operator in lower case, a line each.
    search_text       TEXT COLLATE "C" NOT NULL,
    insertion_date    BIGINT NOT NULL,
    modified_date     BIGINT NOT NULL,
    PRIMARY KEY (source, robot_id)
);

CREATE INDEX robots_by_id ON robots (robot_id);

CREATE TABLE registry_version (
    id      BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    version BIGINT NOT NULL
);

INSERT INTO registry_version (id, version) VALUES (1, 0);
