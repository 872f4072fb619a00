-- Renders that crashed their renderers, as they were queued, for people to examine.
CREATE TABLE dead_letter (
  id TEXT PRIMARY KEY,
  record TEXT NOT NULL CHECK (json_valid(record)),
  reason TEXT NOT NULL,
  -- Epoch milliseconds.
  buried_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER))
) STRICT, WITHOUT ROWID;
CREATE INDEX dead_letter_age ON dead_letter (buried_at);
