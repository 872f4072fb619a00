-- When a render is to be removed, and where what belongs to it stands: the ledger is the index of what is kept. A render that
-- ended is kept by its plan; one that did not has a day more, in which every render ends.
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
  -- Bucket and prefix of its tenant at acceptance. NULL, from before this was kept: nothing but the manifest is known.
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
