-- Webhook deliveries and their progress.
CREATE TABLE delivery (
  id TEXT PRIMARY KEY,
  render TEXT NOT NULL,
  delivery TEXT NOT NULL CHECK (json_valid(delivery)),
  status TEXT NOT NULL CHECK (status IN ('scheduled', 'delivered', 'exhausted', 'gone', 'blocked')),
  reason TEXT,
  -- Scheduled attempts that were made, and when the next one is due.
  attempts INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER,
  -- Attempts that were requested in addition to the schedule and not yet made.
  asked INTEGER NOT NULL DEFAULT 0,
  -- When the next scheduled or requested attempt is due. NULL = never.
  next_at INTEGER,
  -- The calls that were made, the oldest first.
  calls TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(calls)),
  -- Whether the process is working on it. The next start releases the deliveries of a process that died.
  taken INTEGER NOT NULL DEFAULT 0 CHECK (taken IN (0, 1)),
  CHECK ((due_at IS NOT NULL) = (status = 'scheduled'))
) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_render ON delivery (render);
CREATE INDEX delivery_next ON delivery (taken, next_at) WHERE next_at IS NOT NULL;

-- Events that were recorded before deliveries existed are not delivered.
INSERT INTO event_reader (reader, position) SELECT 'webhooks', max(position) FROM event HAVING max(position) IS NOT NULL;
