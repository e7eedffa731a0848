-- Every page is asked for as a whole once more: more of what stands around the matter of pages is
-- told apart from it.
UPDATE site_robot_urls SET etag = NULL, last_modified = NULL, content_hash = NULL;
