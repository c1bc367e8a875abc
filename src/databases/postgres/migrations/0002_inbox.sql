-- What a consumer has handled, written in the consumer's own transaction. Several outboxes of one schema share it.
create table if not exists {{inbox}} (
  consumer text not null collate "C",
  message_id text not null collate "C",
  handled_at timestamptz not null default now(),
  primary key (consumer, message_id)
);
create index if not exists {{inbox_handled_at}} on {{inbox}} using brin (handled_at);
