-- Attempts that were given back, as their renderer had to go: they do not count towards those a render has, and their numbers stay taken.
ALTER TABLE render ADD COLUMN returned INTEGER NOT NULL DEFAULT 0;
