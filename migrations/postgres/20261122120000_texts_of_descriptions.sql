-- Long texts of resource descriptions, for which attributes has null: last, so that lists
-- need not read them. Rows from before have them in attributes.

ALTER TABLE resource_descriptions ADD COLUMN partial_text TEXT;
ALTER TABLE resource_descriptions ADD COLUMN full_text TEXT;
ALTER TABLE resource_descriptions ADD COLUMN contents TEXT;
