-- Runs of the site robot that a command hands over to a running server.
-- Columns in _ms are milliseconds since 1970.

CREATE TABLE site_robot_orders (
    order_id  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    site      TEXT NOT NULL,
    -- What is to be done, as JSON.
    work      TEXT NOT NULL,
    placed_ms BIGINT NOT NULL,
    -- run, or stop.
    wanted    TEXT NOT NULL,
    -- Who has taken it, and when that was last seen at work.
    holder    TEXT,
    seen_ms   BIGINT,
    -- How it goes, and what came of it, as JSON.
    progress  TEXT,
    outcome   TEXT
);

-- Servers that take orders, and when each was last seen.
CREATE TABLE site_robot_servers (
    holder  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    seen_ms BIGINT NOT NULL
);

-- Numbers that grow: with each order, and when robot heaven may have changed.
CREATE TABLE site_robot_news (
    id      BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    orders  BIGINT NOT NULL,
    heavens BIGINT NOT NULL
);

INSERT INTO site_robot_news (id, orders, heavens) VALUES (1, 0, 0);
