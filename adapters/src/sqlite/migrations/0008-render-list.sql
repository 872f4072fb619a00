-- What renders are listed by. `scope` is their account and environment. Renders without it are in no list.
ALTER TABLE render ADD COLUMN scope TEXT;
ALTER TABLE render ADD COLUMN engine TEXT;
ALTER TABLE render ADD COLUMN reference TEXT;
ALTER TABLE render ADD COLUMN metadata TEXT CHECK (json_valid(metadata));

UPDATE render SET
  scope = event ->> '$.manifest.render.account' || ' ' || (event ->> '$.manifest.render.environment'),
  engine = event ->> '$.manifest.render.engine'
FROM event WHERE event ->> '$.manifest.render.id' = render.id;
UPDATE render SET scope = record ->> '$.account' || ' ' || (record ->> '$.environment'), engine = record ->> '$.engine'
FROM queue WHERE queue.id = render.id;

-- Newest first. With status and engine in each, every filter is a few ranges of one index, and no page scans what it does not show.
CREATE INDEX render_listed ON render (scope, id) WHERE scope IS NOT NULL;
CREATE INDEX render_by_status ON render (scope, status, engine, id) WHERE scope IS NOT NULL;
CREATE INDEX render_by_template ON render (scope, template, status, engine, id) WHERE scope IS NOT NULL;
CREATE INDEX render_by_reference ON render (scope, reference, status, engine, id) WHERE reference IS NOT NULL;
CREATE INDEX render_by_both ON render (scope, reference, template, status, engine, id) WHERE reference IS NOT NULL;
