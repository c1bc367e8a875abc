import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chooseBroker } from '../../../demo/brokers/choose.ts'
import { NoServer } from '../../../demo/no-server.ts'

// A PATH with nothing but what a test puts there, so that no machine's own Java or Docker answers.
let folder: string
const before = { path: process.env['PATH'], cache: process.env['OUTRIDER_CACHE'], brokers: process.env['OUTRIDER_TEST_KAFKA_BROKERS'] }

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'choose-broker-'))
  process.env['PATH'] = folder
  process.env['OUTRIDER_CACHE'] = folder
  delete process.env['OUTRIDER_TEST_KAFKA_BROKERS']
})
afterEach(() => {
  rmSync(folder, { recursive: true })
  for (const [name, value] of [
    ['PATH', before.path],
    ['OUTRIDER_CACHE', before.cache],
    ['OUTRIDER_TEST_KAFKA_BROKERS', before.brokers],
  ] as const) {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
})

function install(...commands: string[]): void {
  for (const command of commands) {
    const path = join(folder, command)
    writeFileSync(path, '#!/bin/sh\nexit 0\n')
    chmodSync(path, 0o755)
  }
}

describe('auto', () => {
  test('an address given comes before all else', () => {
    install('docker', 'java', 'mvn')
    expect(chooseBroker('auto', { KAFKA_BROKERS: 'a:9092' }).because).toContain('KAFKA_BROKERS is set')
    expect(chooseBroker('auto', { OUTRIDER_TEST_KAFKA_BROKERS: 'a:9092' }).because).toContain('OUTRIDER_TEST_KAFKA_BROKERS is set')
  })

  test('an empty address is none', () => {
    install('docker')
    expect(chooseBroker('auto', { KAFKA_BROKERS: ' ' }).because).toBe('Docker answers')
  })

  test('then Docker, if its daemon answers, then Java with Maven, then the embedded broker', () => {
    expect(chooseBroker('auto', {}).because).toContain('the embedded broker')
    install('java')
    expect(chooseBroker('auto', {}).because).toMatch(/no Maven.*the embedded broker/)
    install('mvn')
    expect(chooseBroker('auto', {}).because).toContain('Maven fetches Kafka')
    install('docker')
    expect(chooseBroker('auto', {}).because).toBe('Docker answers')
  })
})

test('a Docker that answers and then can not run Kafka is told, and the next one is taken', async () => {
  install('docker')
  writeFileSync(join(folder, 'docker'), '#!/bin/sh\n[ "$1" = run ] && { echo "no such image" >&2; exit 125; }\nexit 0\n')
  const told: string[] = []
  const broker = await chooseBroker('auto', {}).start((text) => told.push(text))
  try {
    expect(broker.address.kind).toBe('embedded')
    expect(told).toHaveLength(1)
    expect(told[0]).toMatch(/Docker can't run Kafka: docker run failed \(125\): no such image; .*the embedded broker/)
  } finally {
    await broker.close()
  }
  await expect(chooseBroker('kafka', {}).start(() => undefined)).rejects.toThrow(NoServer)
})

test('memory is the embedded broker, whatever there is', () => {
  install('docker', 'java', 'mvn')
  expect(chooseBroker('memory', { KAFKA_BROKERS: 'a:9092' }).because).toContain('the embedded broker')
})

test('kafka without any is refused, with what would help', () => {
  expect(() => chooseBroker('kafka', {})).toThrow(NoServer)
  expect(() => chooseBroker('kafka', {})).toThrow(/Set KAFKA_BROKERS, start Docker, or install Java/)
})
