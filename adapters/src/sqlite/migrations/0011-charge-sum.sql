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

INSERT INTO charge_sum
SELECT account, period, 'all', '', count(*), sum(units) FROM charge GROUP BY account, period
UNION ALL
SELECT account, period, 'template', template, count(*), sum(units) FROM charge WHERE template IS NOT NULL GROUP BY account, period, template
UNION ALL
SELECT account, period, 'day', day, count(*), sum(units) FROM charge WHERE day IS NOT NULL GROUP BY account, period, day;

-- A charge that is there already is not inserted, and so is not counted again.
CREATE TRIGGER charge_added AFTER INSERT ON charge BEGIN
  INSERT INTO charge_sum
  SELECT new.account, new.period, column1, column2, 1, new.units
  FROM (VALUES ('all', ''), ('template', new.template), ('day', new.day)) WHERE column2 IS NOT NULL
  ON CONFLICT DO UPDATE SET renders = renders + 1, units = units + excluded.units;
END;
