-- Attempts that were given back because their renderer was stopped. They do not count towards the limit, but keep their numbers.
ALTER TABLE render ADD COLUMN returned INTEGER NOT NULL DEFAULT 0;
