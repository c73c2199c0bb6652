-- +goose Up
-- digest is keyed, of what an event said; empty for one that came before it was
-- kept.
ALTER TABLE events ADD COLUMN digest TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE events DROP COLUMN digest;
