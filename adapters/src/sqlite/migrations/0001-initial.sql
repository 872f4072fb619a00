-- Accepted renders that are not done. AUTOINCREMENT, because readers hold cursors, so no sequence may be used twice.
CREATE TABLE queue (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  engine TEXT NOT NULL,
  lane TEXT NOT NULL,
  record TEXT NOT NULL CHECK (json_valid(record))
) STRICT;
CREATE INDEX queue_line ON queue (engine, lane, sequence);

-- Renders that crashed their renderers, as they were queued, for people to examine.
CREATE TABLE dead_letter (
  id TEXT PRIMARY KEY,
  record TEXT NOT NULL CHECK (json_valid(record)),
  reason TEXT NOT NULL,
  -- Epoch milliseconds.
  buried_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER))
) STRICT, WITHOUT ROWID;
CREATE INDEX dead_letter_age ON dead_letter (buried_at);

-- The state of each render. Every claim is an attempt, so `attempts` is also the fence.
CREATE TABLE render (
  id TEXT PRIMARY KEY,
  -- NULL = unknown: the render was canceled or erased. The same holds for `engine`.
  template TEXT,
  accepted_at INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed')),
  attempts INTEGER NOT NULL DEFAULT 0,
  -- Attempts that were given back because their renderer was stopped. They do not count towards the limit, but keep their numbers.
  returned INTEGER NOT NULL DEFAULT 0,
  owner TEXT,
  lease_until INTEGER,
  outcome TEXT CHECK (json_valid(outcome)),
  -- When to remove the render. The plan says how long a render that ended is kept; others are kept a day longer, because every render ends
  -- within a day.
  expires_at INTEGER NOT NULL,
  -- Bucket and prefix of its tenant at acceptance: the ledger is the index of stored data.
  storage TEXT NOT NULL CHECK (json_valid(storage)),
  -- What renders are listed by. `scope` is their account and environment. Renders without it are in no list.
  scope TEXT,
  engine TEXT,
  reference TEXT,
  metadata TEXT CHECK (json_valid(metadata)),
  -- Renders of a batch are found by it, and counted.
  batch TEXT,
  CHECK ((outcome IS NOT NULL) = (status IN ('succeeded', 'failed'))),
  CHECK (owner IS NULL OR (status = 'running' AND lease_until IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX render_held ON render (id) WHERE owner IS NOT NULL;
CREATE INDEX render_due ON render (expires_at);
-- Newest first. With status and engine in each, every filter is a few ranges of one index, and no page scans what it does not show.
CREATE INDEX render_listed ON render (scope, id) WHERE scope IS NOT NULL;
CREATE INDEX render_by_status ON render (scope, status, engine, id) WHERE scope IS NOT NULL;
CREATE INDEX render_by_template ON render (scope, template, status, engine, id) WHERE scope IS NOT NULL;
CREATE INDEX render_by_reference ON render (scope, reference, status, engine, id) WHERE reference IS NOT NULL;
CREATE INDEX render_by_both ON render (scope, reference, template, status, engine, id) WHERE reference IS NOT NULL;
CREATE INDEX render_by_batch ON render (scope, batch, status, engine, id) WHERE batch IS NOT NULL;

-- Events of renders, in the order in which they were recorded. AUTOINCREMENT for the same reason as above.
CREATE TABLE event (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  dated INTEGER NOT NULL,
  event TEXT NOT NULL CHECK (json_valid(event))
) STRICT;
CREATE INDEX event_dated ON event (dated);
-- Finds the event of a render, to erase it.
CREATE INDEX event_render ON event (event ->> '$.manifest.render.id');

-- How far each reader has read the events.
CREATE TABLE event_reader (
  reader TEXT PRIMARY KEY,
  position INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The units of each render that succeeded, charged once, in the month of its reservation, with its template and the day of its acceptance,
-- such as '05'.
CREATE TABLE charge (
  id TEXT PRIMARY KEY,
  account TEXT NOT NULL,
  period TEXT NOT NULL,
  units INTEGER NOT NULL,
  dated INTEGER NOT NULL,
  template TEXT NOT NULL,
  day TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX charge_dated ON charge (dated);

-- What an account is charged in a month: in all, by template and by day. A start reads these few rows instead of every charge.
CREATE TABLE charge_sum (
  account TEXT NOT NULL,
  period TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('all', 'template', 'day')),
  -- The template, or the day such as '05'. Empty for the sum of all.
  name TEXT NOT NULL,
  renders INTEGER NOT NULL,
  units INTEGER NOT NULL,
  PRIMARY KEY (account, period, kind, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX charge_sum_period ON charge_sum (period);

-- A charge that is there already is not inserted, and so is not counted again.
CREATE TRIGGER charge_added AFTER INSERT ON charge BEGIN
  INSERT INTO charge_sum
  SELECT new.account, new.period, column1, column2, 1, new.units
  FROM (VALUES ('all', ''), ('template', new.template), ('day', new.day)) WHERE true
  ON CONFLICT DO UPDATE SET renders = renders + 1, units = units + excluded.units;
END;

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
  -- What deliveries are listed by, which each delivery says itself. Test events say nothing of it and are in no list.
  scope TEXT AS (delivery ->> '$.account' || ' ' || (delivery ->> '$.environment')) VIRTUAL,
  template TEXT AS (delivery ->> '$.listed.template') VIRTUAL,
  reference TEXT AS (delivery ->> '$.listed.reference') VIRTUAL,
  CHECK ((due_at IS NOT NULL) = (status = 'scheduled'))
) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_render ON delivery (render);
CREATE INDEX delivery_next ON delivery (taken, next_at) WHERE next_at IS NOT NULL;
-- As for renders: every filter is a few ranges of one index.
CREATE INDEX delivery_listed ON delivery (scope, render) WHERE template IS NOT NULL;
CREATE INDEX delivery_by_status ON delivery (scope, status, render) WHERE template IS NOT NULL;
CREATE INDEX delivery_by_template ON delivery (scope, template, status, render) WHERE template IS NOT NULL;
CREATE INDEX delivery_by_reference ON delivery (scope, reference, status, render) WHERE reference IS NOT NULL;
CREATE INDEX delivery_by_both ON delivery (scope, reference, template, status, render) WHERE reference IS NOT NULL;
