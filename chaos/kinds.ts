/** Every kind of fault, by the name that the result gives it. */
export const faultKinds: readonly string[] = [
  'relay_killed',
  'relay_stopped',
  'backends_terminated',
  'postgres_restarted',
  'postgres_killed',
  'kafka_restarted',
  'kafka_killed',
  'clock_off',
]
