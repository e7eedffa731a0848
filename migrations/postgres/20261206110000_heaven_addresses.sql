-- Addresses of each site, a space between them: the one that its pages have now, and before it those
-- that they had.

ALTER TABLE heaven_publications ADD COLUMN addresses TEXT NOT NULL DEFAULT '';
