-- Resource descriptions: what the site robot says about each resource of a site.
-- Columns in _ms are milliseconds since 1970; attributes is a JSON object in order.
-- Columns in _key are what indexes are sorted by, cut to 255 bytes, empty where nothing is known.

CREATE TABLE resource_descriptions (
    site               TEXT    NOT NULL,
    url                TEXT    NOT NULL,
    -- SHA-256 of what the description says, times and place aside.
    fingerprint        TEXT    NOT NULL,
    title              TEXT    NOT NULL,
    classification_key TEXT    NOT NULL,
    title_key          TEXT    NOT NULL,
    author_key         TEXT    NOT NULL,
    date_key           TEXT    NOT NULL,
    depth_key          TEXT    NOT NULL,
    md5                TEXT,
    first_seen_ms      INTEGER NOT NULL,
    modified_ms        INTEGER NOT NULL,
    run_id             INTEGER NOT NULL,
    attributes         TEXT    NOT NULL,
    PRIMARY KEY (site, url)
) STRICT;

CREATE INDEX resource_descriptions_by_classification
    ON resource_descriptions (site, classification_key, url) WHERE classification_key <> '';
CREATE INDEX resource_descriptions_by_title
    ON resource_descriptions (site, title_key, url) WHERE title_key <> '';
CREATE INDEX resource_descriptions_by_author
    ON resource_descriptions (site, author_key, url) WHERE author_key <> '';
CREATE INDEX resource_descriptions_by_date
    ON resource_descriptions (site, date_key, url) WHERE date_key <> '';
CREATE INDEX resource_descriptions_by_depth
    ON resource_descriptions (site, depth_key, url) WHERE depth_key <> '';
CREATE INDEX resource_descriptions_by_change
    ON resource_descriptions (site, modified_ms, url);
