-- Marks over the full text of a description: lists, tables, code, links. Pages that were described
-- without them are asked for as wholes once more.

ALTER TABLE resource_descriptions ADD COLUMN marks TEXT;
ALTER TABLE staged_descriptions ADD COLUMN marks TEXT;
ALTER TABLE previous_descriptions ADD COLUMN marks TEXT;

UPDATE site_robot_urls SET etag = NULL, last_modified = NULL, content_hash = NULL;
