-- Finds the event of a render, to erase it.
CREATE INDEX event_render ON event (event ->> '$.manifest.render.id');
