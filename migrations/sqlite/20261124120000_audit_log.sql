-- Who changed what, and when: rules, settings, refreshes, logins, tokens.

CREATE TABLE audit_log (
    entry_id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms    INTEGER NOT NULL,
    -- Who: admin, token NAME, command line, schedule.
    actor    TEXT    NOT NULL,
    -- What was done, in a word such as rule-added.
    event    TEXT    NOT NULL,
    -- What it was done to, such as a robot's id or the label of a rule.
    subject  TEXT    NOT NULL,
    detail   TEXT    NOT NULL
) STRICT;

CREATE INDEX audit_log_by_time ON audit_log (at_ms);
