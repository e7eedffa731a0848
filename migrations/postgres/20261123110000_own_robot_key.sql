-- Key by which the layers of a fleet know the site robot of their own sites, in hexadecimal.
-- Whoever needs it first makes it.

CREATE TABLE own_robot_key (
    id         BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    secret     TEXT NOT NULL,
    created_ms BIGINT NOT NULL
);
