-- The units of each render that succeeded, charged once, in the month of its reservation.
CREATE TABLE charge (
  id TEXT PRIMARY KEY,
  account TEXT NOT NULL,
  period TEXT NOT NULL,
  units INTEGER NOT NULL,
  dated INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX charge_dated ON charge (dated);
