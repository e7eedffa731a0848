-- Runs of the site robot that a command hands over to a running server.
-- Columns in _ms are milliseconds since 1970.

CREATE TABLE site_robot_orders (
    order_id  TEXT NOT NULL PRIMARY KEY,
    site      TEXT NOT NULL,
    -- What is to be done, as JSON.
    work      TEXT NOT NULL,
    placed_ms INTEGER NOT NULL,
    -- run, or stop.
    wanted    TEXT NOT NULL,
    -- Who has taken it, and when that was last seen at work.
    holder    TEXT,
    seen_ms   INTEGER,
    -- How it goes, and what came of it, as JSON.
    progress  TEXT,
    outcome   TEXT
) STRICT;

-- Servers that take orders, and when each was last seen.
CREATE TABLE site_robot_servers (
    holder  TEXT NOT NULL PRIMARY KEY,
    seen_ms INTEGER NOT NULL
) STRICT;

-- Numbers that grow: with each order, and when robot heaven may have changed.
CREATE TABLE site_robot_news (
    id      INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    orders  INTEGER NOT NULL,
    heavens INTEGER NOT NULL
) STRICT;

INSERT INTO site_robot_news (id, orders, heavens) VALUES (1, 0, 0);
