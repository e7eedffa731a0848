-- By how many milliseconds the clock of its machine is ahead of the database's; negative: behind.
ALTER TABLE instances ADD COLUMN ahead_ms INTEGER NOT NULL DEFAULT 0;
