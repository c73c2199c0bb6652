-- +goose Up
-- An account's leads are listed by id, which rises with time; charges are read by
-- time, and nobody asks for those of one lead.
DROP INDEX leads_by_time;
CREATE INDEX leads_of_account ON leads (account, id);
DROP INDEX charges_by_lead;
DROP INDEX charges_by_time;
CREATE INDEX charges_by_time ON charges (charged_at);

-- +goose Down
DROP INDEX charges_by_time;
CREATE INDEX charges_by_time ON charges (account, charged_at);
CREATE INDEX charges_by_lead ON charges (lead);
DROP INDEX leads_of_account;
CREATE INDEX leads_by_time ON leads (account, accepted_at);
