import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { DescriptorBudget, openFilesLimit } from './descriptor-budget.ts'
import type { ListenerStats, SocketAddress } from './relay.ts'
import { ask, open } from './testing/clients.ts'
import { echoEndpoint } from './testing/endpoints.ts'
import { use } from './testing/relay-under-test.ts'

test('a flood of refusals is one log line, and ten seconds later one more that counts the others', async () => {
  const log = new RecordingLogger()
  const clock = new FakeClock()
  const descriptors = new DescriptorBudget({ limit: 64 + 10, log, clock })
  while (descriptors.tryTake(1, 'shop/web')) expect(descriptors.used).toBeLessThanOrEqual(9)
  for (let i = 0; i < 500; i++) expect(descriptors.tryTake(1, 'shop/web')).toBe(false)
  expect(log.at('warn')).toHaveLength(1)
  expect(log.at('warn')[0]?.fields).toMatchObject({ service: 'shop/web', used: 9, openFilesLimit: 74 })

  await clock.advance(10_000)
  descriptors.tryTake(1, 'shop/web')
  expect(log.at('warn')).toHaveLength(2)
  expect(log.at('warn')[1]?.fields).toMatchObject({ alsoTurnedAway: 500 })
})

test('the limit of open files is that of this process', () => {
  expect(openFilesLimit()).toBeGreaterThan(64)
})

test.runIf(process.platform === 'linux')(
  'a relay that really runs out of descriptors goes on, refuses, and recovers',
  async () => {
    const echo = use(await echoEndpoint())
    // A connection takes two descriptors. Whether the last one is missed when accepting (where libuv closes the
    // connection without telling) or when dialling depends on whether their number is odd.
    const reports = []
    for (const openFiles of [100, 101]) {
      const relay = await crowdedRelay(echo.address.port, { openFiles })
      const { clients, answered } = await crowd(relay.address, 150)
      expect(answered).toBeGreaterThan(10)
      expect(answered).toBeLessThan(60)
      const crowded = await relay.stats()
      expect(crowded.dialFailures).toBe(0)
      reports.push(...crowded.warnings)

      for (const client of clients) client.destroy()
      let { active } = crowded
      while (active > 0) ({ active } = await relay.stats())
      expect(await ask(relay.address, 'again')).toBe('again')
    }
    expect([...new Set(reports)]).toEqual(['clients are turned away: too many open connections'])
  },
)

/** Opens many connections at once; resolves when each has got an answer or its end. */
async function crowd(address: SocketAddress, size: number) {
  let answered = 0
  const clients = Array.from({ length: size }, () => open(address))
  await Promise.all(
    clients.map(async (client) => {
      client.on('error', () => {})
      client.once('data', () => answered++)
      client.write('hello')
      // Closed by libuv right after the accept, a client sees a clean end or a reset.
      await Promise.race([once(client, 'data'), once(client, 'end')]).catch(() => {})
    }),
  )
  return { clients, answered }
}

async function crowdedRelay(endpointPort: number, { openFiles }: { readonly openFiles: number }) {
  const program = fileURLToPath(new URL('testing/crowded-relay.ts', import.meta.url))
  const command = `ulimit -n ${openFiles}; exec "$0" --import tsx "$@"`
  const child = spawn('sh', ['-c', command, process.execPath, program, String(endpointPort)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(async () => {
    child.stdin.end()
    if (child.exitCode === null) await once(child, 'exit')
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const read = async <T>() => {
    const line = await lines.next()
    if (line.done === true) throw new Error('the relay has died')
    return JSON.parse(line.value) as T
  }
  return {
    address: await read<SocketAddress>(),
    stats() {
      child.stdin.write('stats\n')
      return read<ListenerStats & { readonly warnings: readonly string[] }>()
    },
  }
}
