// Where Kafka's jars come from, and what a fresh node needs on its disk.
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cached } from './cache.ts'

const run = promisify(execFile)

export const KAFKA_VERSION = '4.4.0'

const pom = (version: string): string => `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>outrider</groupId>
  <artifactId>kafka</artifactId>
  <version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${version}</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
`

/** The folder of Kafka's jars: Maven fetches them the first time (about 45 MB). */
export const kafkaJars = (version: string): Promise<string> =>
  cached(`kafka-${version}-jars`, async (dir) => {
    await writeFile(join(dir, 'pom.xml'), pom(version))
    const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${dir}`]
    await run('mvn', ['-q', '-B', '-f', join(dir, 'pom.xml'), ...goal], { maxBuffer: 1 << 26 })
  })

export const newClusterId = (): string => randomBytes(16).toString('base64url')

export interface NodeFiles {
  readonly jars: string
  readonly version: string
  readonly clusterId: string
  readonly nodeId: number
  readonly properties: Readonly<Record<string, string | number>>
}

/** Writes `server.properties` and the formatted data folder of one node. Returns the properties' path. */
export async function writeNode(folder: string, files: NodeFiles): Promise<string> {
  const data = join(folder, 'data')
  const path = join(folder, 'server.properties')
  const lines = Object.entries({ ...files.properties, 'log.dirs': data }).map(([name, value]) => `${name}=${value}`)
  await writeFile(path, `${lines.join('\n')}\n`)
  await cp(await formatted(files.jars, files.version), data, { recursive: true })
  const meta = ['version=1', `cluster.id=${files.clusterId}`, `node.id=${files.nodeId}`, `directory.id=${newClusterId()}`]
  await writeFile(join(data, 'meta.properties'), `${meta.join('\n')}\n`)
  return path
}

/** What Kafka's own `storage format` writes is the same for every node but for its ids; so it runs once for each version. */
const formatted = (jars: string, version: string): Promise<string> =>
  cached(`kafka-${version}-data-1`, async (dir) => {
    const config = join(dir, 'format.properties')
    const voters = ['process.roles=broker,controller', 'node.id=1', 'controller.quorum.voters=1@127.0.0.1:1']
    const listeners = ['listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0', 'controller.listener.names=CONTROLLER']
    const protocols = 'listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT'
    await writeFile(config, [...voters, ...listeners, protocols, `log.dirs=${dir}`].join('\n'))
    const flags = ['-Xmx256m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-cp', join(jars, '*')]
    await run('java', [...flags, 'kafka.tools.StorageTool', 'format', '-t', newClusterId(), '-c', config], { maxBuffer: 1 << 26 })
    await rm(config)
  })
