/** 100,000 short connections leave nothing behind in the process that carried them: no memory, no descriptor. */
import { spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildShippedEngine, type BuiltEngine } from '../../../src/dataplane/relay/native/testing/build-engine.ts'
import { relayProcess, type RelayProcess } from '../../../src/dataplane/relay/testing/relay-process.ts'
import { use } from '../../../src/dataplane/relay/testing/relay-under-test.ts'
import { buildPeer, startEndpoint, startLoad } from './relay-programs.ts'

const warmUp = 20_000
const measured = 100_000

const hasGo = spawnSync('go', ['version']).status === 0
const isPossible = process.platform === 'linux' && hasGo
const obstacle = isPossible ? '' : ' (needs Linux, and Go for the clients)'

describe.runIf(isPossible)(`short connections${obstacle}`, () => {
  let native: BuiltEngine

  beforeAll(async () => {
    const [engine] = await Promise.all([buildShippedEngine(), buildPeer()])
    native = engine
  }, 180_000)
  afterAll(() => native[Symbol.asyncDispose]())

  test.each([
    // The garbage of JavaScript comes and goes: what counts is that it does not add up.
    { name: 'the Node relay', engineOf: () => 'node' as const, toleratedMb: 40 },
    { name: 'the native relay', engineOf: () => native, toleratedMb: 4 },
  ])(
    '$name has as much memory and as many descriptors after 100,000 as before',
    async ({ engineOf, toleratedMb }) => {
      const { port } = use(await startEndpoint())
      const relay = await relayProcess(
        { endpoint: { ip: '127.0.0.1', port }, engine: engineOf() },
        { openFiles: 4_096 },
      )
      const descriptors = relay.openDescriptors()
      await carry(relay, warmUp)
      const before = relay.residentBytes()
      await carry(relay, warmUp + measured)
      expect((relay.residentBytes() - before) / 2 ** 20).toBeLessThan(toleratedMb)
      expect(relay.openDescriptors()).toBeLessThanOrEqual(descriptors)
      expect(await relay.stats()).toMatchObject({ dialFailures: 0, errors: [], warnings: [] })
    },
    300_000,
  )
})

/** Has clients come and go until there were so many; returns when the last has gone. */
async function carry(relay: RelayProcess, count: number): Promise<void> {
  let stats = await relay.stats()
  while (stats.connections < count) {
    await using clients = startLoad(relay.address.port, 'connect', 64, 1_000)
    expect(await clients.nextLine()).toMatchObject({ failures: 0 })
    stats = await relay.stats()
  }
  // Those that broke off while they were dialled are not active, but they have descriptors.
  for (; stats.active > 0 || stats.descriptors.used > 1; stats = await relay.stats()) await sleep(5)
}
