-- Accepted renders that are not done. AUTOINCREMENT, because readers hold cursors, so no sequence may be used twice.
CREATE TABLE queue (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  engine TEXT NOT NULL,
  lane TEXT NOT NULL,
  record TEXT NOT NULL CHECK (json_valid(record))
) STRICT;
CREATE INDEX queue_line ON queue (engine, lane, sequence);

-- The state of each render. Every claim is an attempt, so `attempts` is also the fence.
CREATE TABLE render (
  id TEXT PRIMARY KEY,
  template TEXT NOT NULL,
  accepted_at INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed')),
  attempts INTEGER NOT NULL DEFAULT 0,
  owner TEXT,
  lease_until INTEGER,
  outcome TEXT CHECK (json_valid(outcome)),
  -- When the render was accepted, or after its end, when it ended. Pruning uses it.
  dated INTEGER NOT NULL,
  CHECK ((outcome IS NOT NULL) = (status IN ('succeeded', 'failed'))),
  CHECK (owner IS NULL OR (status = 'running' AND lease_until IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX render_held ON render (id) WHERE owner IS NOT NULL;
CREATE INDEX render_dated ON render (dated);

-- Events of renders, in the order in which they were recorded. AUTOINCREMENT for the same reason as above.
CREATE TABLE event (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  dated INTEGER NOT NULL,
  event TEXT NOT NULL CHECK (json_valid(event))
) STRICT;
CREATE INDEX event_dated ON event (dated);

-- How far each reader has read the events.
CREATE TABLE event_reader (
  reader TEXT PRIMARY KEY,
  position INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
