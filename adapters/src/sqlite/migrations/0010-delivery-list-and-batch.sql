-- What deliveries are listed by, which each delivery says itself. Test events say nothing of it and are in no list.
UPDATE delivery SET delivery = json_set(delivery, '$.listed', json_object('template', render.template, 'expiresAt', render.expires_at))
FROM render WHERE render.id = delivery.render AND render.template IS NOT NULL AND render.expires_at IS NOT NULL;
UPDATE delivery SET delivery = json_set(delivery, '$.listed.reference', render.reference)
FROM render WHERE render.id = delivery.render AND render.reference IS NOT NULL AND delivery ->> '$.listed.template' IS NOT NULL;

ALTER TABLE delivery ADD COLUMN scope TEXT AS (delivery ->> '$.account' || ' ' || (delivery ->> '$.environment')) VIRTUAL;
ALTER TABLE delivery ADD COLUMN template TEXT AS (delivery ->> '$.listed.template') VIRTUAL;
ALTER TABLE delivery ADD COLUMN reference TEXT AS (delivery ->> '$.listed.reference') VIRTUAL;

-- As for renders: every filter is a few ranges of one index.
CREATE INDEX delivery_listed ON delivery (scope, render) WHERE template IS NOT NULL;
CREATE INDEX delivery_by_status ON delivery (scope, status, render) WHERE template IS NOT NULL;
CREATE INDEX delivery_by_template ON delivery (scope, template, status, render) WHERE template IS NOT NULL;
CREATE INDEX delivery_by_reference ON delivery (scope, reference, status, render) WHERE reference IS NOT NULL;
CREATE INDEX delivery_by_both ON delivery (scope, reference, template, status, render) WHERE reference IS NOT NULL;

-- The batch of a render. Renders of a batch are found by it, and counted.
ALTER TABLE render ADD COLUMN batch TEXT;

CREATE INDEX render_by_batch ON render (scope, batch, status, engine, id) WHERE batch IS NOT NULL;
