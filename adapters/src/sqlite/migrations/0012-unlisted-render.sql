-- Renders that have ended and are in no list have a scope, too, by which an erasure finds them. Of these the account is not known.
UPDATE render SET scope = '' WHERE scope IS NULL AND outcome IS NOT NULL;
