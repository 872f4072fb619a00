-- The template of a charged render, and the day of its acceptance, such as '05'. NULL for older charges whose event is no longer kept.
ALTER TABLE charge ADD COLUMN template TEXT;
ALTER TABLE charge ADD COLUMN day TEXT;

UPDATE charge SET (template, day) = (
  SELECT event ->> '$.manifest.render.template.code',
    strftime('%d', (event ->> '$.manifest.render.acceptedAt') / 1000, 'unixepoch')
  FROM event WHERE event ->> '$.manifest.render.id' = charge.id
);
