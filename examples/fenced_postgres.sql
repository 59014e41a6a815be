-- Writes into PostgreSQL unless a newer holder of the lock has written already. The fence of the last write lives in the row, and
-- comparison and write are one statement: the row's lock sees to the rest. "UPDATE 0" or no row back: it was refused.
--   psql -v id=1 -v body="new text" -v fence=1700000000123456 -f fenced_postgres.sql
CREATE TABLE IF NOT EXISTS document (
    id bigint PRIMARY KEY,
    body text,
    fence bigint NOT NULL DEFAULT 0
);

-- A row that may be new:
INSERT INTO document (id, body, fence)
VALUES (:id, :'body', :fence)
ON CONFLICT (id) DO UPDATE
SET body = excluded.body, fence = excluded.fence
WHERE document.fence <= excluded.fence
RETURNING id;

-- A row that is there:
UPDATE document
SET body = :'body', fence = :fence
WHERE id = :id AND fence <= :fence
RETURNING id;
