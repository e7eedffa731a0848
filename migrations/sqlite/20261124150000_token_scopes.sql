-- What a token may do, when it was last used and when it ends; when a session was last seen.
-- Tokens that are there may do everything, as before.

ALTER TABLE admin_tokens ADD COLUMN scope TEXT NOT NULL DEFAULT 'write'
    CHECK (scope IN ('read', 'write'));

-- The hour of its last use; nothing where it was never used.
ALTER TABLE admin_tokens ADD COLUMN used_ms INTEGER;

ALTER TABLE admin_tokens ADD COLUMN ends_ms INTEGER;

-- To some minutes; 0 until it is used.
ALTER TABLE admin_sessions ADD COLUMN seen_ms INTEGER NOT NULL DEFAULT 0;
