/** Every kind of fault, by the name that the result gives it. */
export const faultKinds: readonly string[] = [
  'relay_killed',
  'relay_stopped',
  'backends_terminated',
  'postgres_restarted',
  'postgres_killed',
  'kafka_restarted',
  'kafka_killed',
  'database_link_black_holed',
  'database_link_reset',
  'database_link_held',
  'kafka_link_black_holed',
  'kafka_link_reset',
  'kafka_link_held',
  'clock_off',
]

/** Safeties that can be switched off. */
export const breakNames = ['gap', 'order', 'epoch', 'fencing'] as const
export type Break = (typeof breakNames)[number]
