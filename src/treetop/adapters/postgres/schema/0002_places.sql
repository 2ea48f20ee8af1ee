-- Several processes may add bodies at once: the low 40 bits of a body's slot come from one sequence, and no longer count
-- the reports of its collection.
CREATE SEQUENCE place MINVALUE 0 MAXVALUE 1099511627775;
SELECT setval('place', (SELECT coalesce(max(slot & 1099511627775), 0) + 1 FROM body));
UPDATE treetop_schema SET version = 4;
