-- URL that one stands for: where it leads, what it names as canonical, or what has its content.
ALTER TABLE site_robot_urls ADD COLUMN alias_of TEXT;
-- Of URLs with one content, those with the lowest come first.
ALTER TABLE site_robot_urls ADD COLUMN preference BIGINT;

-- What each is an alias of is known when it is asked for as a whole.
UPDATE site_robot_urls SET etag = NULL, last_modified = NULL, content_hash = NULL;
