-- The batch of a render. Renders of a batch are found by it, and counted.
ALTER TABLE render ADD COLUMN batch TEXT;

CREATE INDEX render_by_batch ON render (scope, batch, status, engine, id) WHERE batch IS NOT NULL;
