-- Codes of the reasons why the visitor was suspect, with commas between them; empty where it was not.
ALTER TABLE evidence ADD COLUMN suspect TEXT NOT NULL DEFAULT '';
