-- When to remove a render, and where its data is stored: the ledger is the index of stored data. The plan says how long a render that
-- ended is kept; others are kept a day longer, because every render ends within a day.
CREATE TABLE render_kept (
  id TEXT PRIMARY KEY,
  template TEXT NOT NULL,
  accepted_at INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed')),
  attempts INTEGER NOT NULL DEFAULT 0,
  owner TEXT,
  lease_until INTEGER,
  outcome TEXT CHECK (json_valid(outcome)),
  expires_at INTEGER NOT NULL,
  -- Bucket and prefix of its tenant at acceptance. NULL for older renders: only their manifest is known.
  storage TEXT CHECK (json_valid(storage)),
  CHECK ((outcome IS NOT NULL) = (status IN ('succeeded', 'failed'))),
  CHECK (owner IS NULL OR (status = 'running' AND lease_until IS NOT NULL))
) STRICT, WITHOUT ROWID;

INSERT INTO render_kept
SELECT id, template, accepted_at, status, attempts, owner, lease_until, outcome,
  dated + CASE WHEN outcome IS NULL THEN 31 ELSE 30 END * 86400000,
  CASE WHEN status = 'succeeded' THEN json_object(
    'bucket', outcome ->> '$.pdf.address.bucket',
    'prefix', substr(outcome ->> '$.pdf.address.key', 1, instr(outcome ->> '$.pdf.address.key', id) - 1)
  ) END
FROM render;

DROP TABLE render;
ALTER TABLE render_kept RENAME TO render;
CREATE INDEX render_held ON render (id) WHERE owner IS NOT NULL;
CREATE INDEX render_due ON render (expires_at);
