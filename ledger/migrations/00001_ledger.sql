-- +goose Up
CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE leads (
    id                    TEXT PRIMARY KEY,
    account               TEXT NOT NULL,
    idem_key              TEXT NOT NULL,
    subject               TEXT NOT NULL,
    company               TEXT NOT NULL DEFAULT '',
    lane                  TEXT NOT NULL,
    origin                TEXT NOT NULL DEFAULT '',
    state                 TEXT NOT NULL DEFAULT 'none',
    reason                TEXT NOT NULL DEFAULT '',
    turn                  BIGINT NOT NULL DEFAULT 0,
    queued                INTEGER NOT NULL DEFAULT 0,
    revision              BIGINT NOT NULL DEFAULT 1,
    fence                 BIGINT NOT NULL DEFAULT 0,
    owner                 TEXT NOT NULL DEFAULT '',
    attempts              INTEGER NOT NULL DEFAULT 0,
    processing_started_at BIGINT NOT NULL DEFAULT 0,
    accepted_at           BIGINT NOT NULL,
    deadline_at           BIGINT NOT NULL,
    finished_at           BIGINT NOT NULL DEFAULT 0,
    cost_micros           BIGINT NOT NULL DEFAULT 0,
    request               TEXT NOT NULL,
    -- Personal data: erasure empties these.
    email                 TEXT NOT NULL DEFAULT '',
    contact               TEXT NOT NULL DEFAULT '',
    result                TEXT NOT NULL DEFAULT '',
    UNIQUE (account, idem_key)
);
CREATE INDEX leads_waiting ON leads (lane, turn) WHERE state = 'none' AND queued = 0;
CREATE INDEX leads_queued ON leads (lane, id) WHERE state = 'none' AND queued = 1;
CREATE INDEX leads_processing ON leads (processing_started_at) WHERE state = 'processing';
CREATE INDEX leads_of_subject ON leads (subject);
CREATE INDEX leads_by_time ON leads (account, accepted_at);

CREATE TABLE shares (
    account TEXT NOT NULL,
    lane    TEXT NOT NULL,
    turn    BIGINT NOT NULL,
    PRIMARY KEY (account, lane)
);

-- Personal data: erasure deletes a subject's row.
CREATE TABLE answers (
    subject    TEXT PRIMARY KEY,
    record     TEXT NOT NULL,
    keep_until BIGINT NOT NULL
);
CREATE INDEX answers_by_time ON answers (keep_until);

CREATE TABLE charges (
    charge      TEXT PRIMARY KEY,
    account     TEXT NOT NULL,
    lead        TEXT NOT NULL,
    provider    TEXT NOT NULL,
    micros      BIGINT NOT NULL,
    known       INTEGER NOT NULL,
    charged_at  BIGINT NOT NULL
);
CREATE INDEX charges_by_lead ON charges (lead);
CREATE INDEX charges_by_time ON charges (account, charged_at);

CREATE TABLE timeline_ends (
    subject TEXT PRIMARY KEY,
    seq     BIGINT NOT NULL
);
CREATE TABLE timeline (
    subject TEXT NOT NULL,
    slot    BIGINT NOT NULL,
    seq     BIGINT NOT NULL,
    at      BIGINT NOT NULL,
    kind    TEXT NOT NULL,
    account TEXT NOT NULL,
    lead    TEXT NOT NULL,
    detail  TEXT NOT NULL,
    PRIMARY KEY (subject, slot)
);

CREATE TABLE outbox (
    id            TEXT PRIMARY KEY,
    lead          TEXT NOT NULL,
    account       TEXT NOT NULL,
    subject       TEXT NOT NULL,
    sink          TEXT NOT NULL,
    operation_key TEXT NOT NULL,
    version       BIGINT NOT NULL,
    state         TEXT NOT NULL DEFAULT 'pending',
    attempts      INTEGER NOT NULL DEFAULT 0,
    reopened      BIGINT NOT NULL DEFAULT 0,
    reason        TEXT NOT NULL DEFAULT '',
    created_at    BIGINT NOT NULL,
    ended_at      BIGINT NOT NULL DEFAULT 0,
    -- Personal data: erasure empties it.
    payload       TEXT NOT NULL,
    UNIQUE (sink, operation_key)
);
CREATE INDEX outbox_of_subject ON outbox (subject);
CREATE INDEX outbox_pending ON outbox (created_at) WHERE state = 'pending';
CREATE TABLE outbox_heads (
    sink    TEXT NOT NULL,
    subject TEXT NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (sink, subject)
);

CREATE TABLE dead_letters (
    id          TEXT PRIMARY KEY,
    kind        TEXT NOT NULL,
    target      TEXT NOT NULL,
    lead        TEXT NOT NULL,
    account     TEXT NOT NULL,
    subject     TEXT NOT NULL,
    lane        TEXT NOT NULL,
    reason      TEXT NOT NULL,
    provider    TEXT NOT NULL,
    message     TEXT NOT NULL,
    tries       TEXT NOT NULL,
    attempts    INTEGER NOT NULL,
    first_seen  BIGINT NOT NULL,
    last_seen   BIGINT NOT NULL,
    resolved_at BIGINT NOT NULL DEFAULT 0,
    resolution  TEXT NOT NULL DEFAULT '',
    note        TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX dead_letters_open ON dead_letters (kind, target) WHERE resolved_at = 0;
CREATE INDEX dead_letters_by_reason ON dead_letters (reason, last_seen) WHERE resolved_at = 0;
CREATE INDEX dead_letters_of_subject ON dead_letters (subject);

CREATE TABLE imports (
    id          TEXT PRIMARY KEY,
    account     TEXT NOT NULL,
    digest      TEXT NOT NULL,
    state       TEXT NOT NULL,
    next_row    BIGINT NOT NULL DEFAULT 0,
    accepted    BIGINT NOT NULL DEFAULT 0,
    repeated    BIGINT NOT NULL DEFAULT 0,
    refused     BIGINT NOT NULL DEFAULT 0,
    created_at  BIGINT NOT NULL,
    finished_at BIGINT NOT NULL DEFAULT 0,
    UNIQUE (account, digest)
);
CREATE TABLE import_rows (
    import TEXT NOT NULL,
    line   BIGINT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    lead   TEXT NOT NULL,
    PRIMARY KEY (import, line)
);

CREATE TABLE events (
    account     TEXT NOT NULL,
    event       TEXT NOT NULL,
    lead        TEXT NOT NULL,
    received_at BIGINT NOT NULL,
    PRIMARY KEY (account, event)
);
CREATE INDEX events_by_time ON events (received_at);

CREATE TABLE switches (
    scope        TEXT NOT NULL,
    name         TEXT NOT NULL,
    paused_until BIGINT NOT NULL,
    reason       TEXT NOT NULL,
    changed_at   BIGINT NOT NULL,
    PRIMARY KEY (scope, name)
);

-- +goose Down
DROP TABLE switches;
DROP TABLE events;
DROP TABLE import_rows;
DROP TABLE imports;
DROP TABLE dead_letters;
DROP TABLE outbox_heads;
DROP TABLE outbox;
DROP TABLE timeline;
DROP TABLE timeline_ends;
DROP TABLE charges;
DROP TABLE answers;
DROP TABLE shares;
DROP TABLE leads;
DROP TABLE settings;
