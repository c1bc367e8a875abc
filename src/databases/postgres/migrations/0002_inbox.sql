-- What a consumer has handled, written in the consumer's own transaction. It may live in another database than the outbox.
create table {{schema}}.{{inbox}} (
  consumer text not null collate "C",
  message_id text not null collate "C",
  handled_at timestamptz not null default now(),
  primary key (consumer, message_id)
);
create index on {{schema}}.{{inbox}} using brin (handled_at);
