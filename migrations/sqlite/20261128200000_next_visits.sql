-- Times in a row that a page was as before, and when it is to be asked for again.
ALTER TABLE site_robot_urls ADD COLUMN steady INTEGER;
ALTER TABLE site_robot_urls ADD COLUMN next_ms INTEGER;

-- Which are due, where not all may be asked for.
CREATE INDEX site_robot_urls_next ON site_robot_urls (site, next_ms);
