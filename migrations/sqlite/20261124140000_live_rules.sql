-- Rules that are made while servers run, on the admin page, by its JSON or by a command.

CREATE TABLE live_rules (
    -- Never given twice: what decided is told, and counted, under it.
    rule_id    INTEGER PRIMARY KEY AUTOINCREMENT,
    -- JSON: action, whom it is about, paths, site.
    definition TEXT    NOT NULL,
    created_ms INTEGER NOT NULL,
    -- Who: admin, token NAME, command line.
    created_by TEXT    NOT NULL,
    -- None: it lasts until it is removed.
    ends_ms    INTEGER,
    -- None: it has not been removed. One that was can be brought back for a while.
    removed_ms INTEGER
) STRICT;

-- What servers watch; one row.
CREATE TABLE live_rules_state (
    id            INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    -- Grows with each change.
    version       INTEGER NOT NULL,
    -- All enforcement is paused until then.
    pause_ends_ms INTEGER,
    paused_ms     INTEGER,
    paused_by     TEXT
) STRICT;

INSERT INTO live_rules_state (id, version) VALUES (1, 0);
