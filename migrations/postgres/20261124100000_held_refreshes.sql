-- A document that was held back instead of replacing the robots of its source, by
-- what it is, so that just this one can be accepted.

ALTER TABLE refreshes ADD COLUMN held_sha256 TEXT;
