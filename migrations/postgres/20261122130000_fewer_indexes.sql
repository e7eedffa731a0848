-- What nobody asks the database for: robot heaven sorts its lists itself. Each index was
-- written with each page that the site robot visits.

DROP INDEX resource_descriptions_by_classification;
DROP INDEX resource_descriptions_by_author;
DROP INDEX resource_descriptions_by_date;
DROP INDEX resource_descriptions_by_depth;

ALTER TABLE resource_descriptions DROP COLUMN classification_key;
ALTER TABLE resource_descriptions DROP COLUMN author_key;
ALTER TABLE resource_descriptions DROP COLUMN date_key;
