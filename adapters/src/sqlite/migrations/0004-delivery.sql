-- Events on their way to the receivers of webhooks, as far as they have come.
CREATE TABLE delivery (
  id TEXT PRIMARY KEY,
  render TEXT NOT NULL,
  delivery TEXT NOT NULL CHECK (json_valid(delivery)),
  status TEXT NOT NULL CHECK (status IN ('scheduled', 'delivered', 'exhausted', 'gone', 'blocked')),
  reason TEXT,
  -- Attempts of the schedule that were made, and when the next is due.
  attempts INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER,
  -- Attempts asked for beside the schedule and not yet made.
  asked INTEGER NOT NULL DEFAULT 0,
  -- When it is to be taken up next, be it for the one or the other. NULL = never.
  next_at INTEGER,
  -- The calls that were made, oldest first.
  calls TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(calls)),
  -- Is it in the hands of the process? Those of a process that died are let go of at the next start.
  taken INTEGER NOT NULL DEFAULT 0 CHECK (taken IN (0, 1)),
  CHECK ((due_at IS NOT NULL) = (status = 'scheduled'))
) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_render ON delivery (render);
CREATE INDEX delivery_next ON delivery (taken, next_at) WHERE next_at IS NOT NULL;

-- What was recorded before there were deliveries is told to nobody any more.
INSERT INTO event_reader (reader, position) SELECT 'webhooks', max(position) FROM event HAVING max(position) IS NOT NULL;
