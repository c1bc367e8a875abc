import type { BrokerAddress, BrokerClients } from './broker.ts'

/** Loads the clients of one kind of broker only. */
export async function clientsFor(address: BrokerAddress): Promise<BrokerClients> {
  if (address.kind === 'embedded') return (await import('./embedded/clients.ts')).embeddedClients(address.port)
  return (await import('./kafka-clients.ts')).kafkaClients(address.brokers)
}
