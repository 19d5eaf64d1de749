/**
 * Clients that keep one connection each, written in Go as most of a cluster is: new endpoints get their share of them within
 * two ages, and no request fails. Go would send most requests again by itself; these it cannot.
 */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { silentLogger } from '../../src/core/logger.ts'
import { NativeRelay } from '../../src/dataplane/relay/native/native-relay.ts'
import { buildShippedEngine, type BuiltEngine } from '../../src/dataplane/relay/native/testing/build-engine.ts'
import { NodeRelay } from '../../src/dataplane/relay/node/node-relay.ts'
import type { Balancing, Relay } from '../../src/dataplane/relay/relay.ts'
import { listenerSpec, use } from '../../src/dataplane/relay/testing/relay-under-test.ts'

const clients = 10
const ageMs = 4_000
/** Longer than the silence that is waited for when it matters, and not a multiple of it. */
const think = '400ms'

let folder: string
let program: string
let engine: BuiltEngine

const hasTools = [
  ['go', 'version'],
  ['cc', '--version'],
].every(([tool = '', ...args]) => spawnSync(tool, args).status === 0)

beforeAll(async () => {
  if (!hasTools) return
  folder = await mkdtemp(join(tmpdir(), 'fairlead-relay-ages-'))
  program = join(folder, 'keepalive')
  const source = fileURLToPath(new URL('.', import.meta.url))
  await promisify(execFile)('go', ['build', '-o', program, '.'], { cwd: source })
  engine = await buildShippedEngine()
}, 180_000)
afterAll(async () => {
  if (!hasTools) return
  await engine[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

function startNative(): Promise<Relay> {
  return NativeRelay.start({ ...shared, workers: 2, program: engine.program })
}
const shared = { log: silentLogger, clock: systemClock }
const engines: Readonly<Record<string, () => Relay | Promise<Relay>>> = {
  native: startNative,
  Node: () => new NodeRelay(shared),
}

describe.skipIf(!hasTools)(`long connections of Go clients${hasTools ? '' : ' [skipped: go or cc is missing]'}`, () => {
  for (const [name, make] of Object.entries(engines))
    for (const protocol of ['http1', 'http2'] as const)
      test(`${name}, ${protocol}: from 3 endpoints to 10 within two ages, and no request fails`, async () => {
        const runs = (['round-robin', 'least-connections'] as const).map(async (balancing) =>
          scaled(await make(), protocol, balancing),
        )
        for (const { skew, met } of await Promise.all(runs)) {
          expect(met.failures).toEqual([])
          expect(met.requests).toBeGreaterThan(5 * clients)
          expect(met.connections).toBeGreaterThan(clients)
          expect(skew).toBeLessThan(1.5)
        }
      }, 120_000)

  test('without an age they stay where they are', async () => {
    const { skew, met } = await scaled(await startNative(), 'http1', 'round-robin', 0)
    expect(met.failures).toEqual([])
    expect(met.connections).toBe(clients)
    expect(skew).toBeGreaterThan(1.5)
  }, 120_000)
})

interface Met {
  readonly requests: number
  readonly connections: number
  readonly failures: readonly string[]
}

async function scaled(made: Relay, protocol: 'http1' | 'http2', balancing: Balancing, maxConnectionAgeMs = ageMs) {
  const relay = use(made)
  const servers = start('serve', '10')
  const ports = JSON.parse(await servers.line()) as readonly number[]
  const endpoints = ports.map((port) => ({ address: { ip: '127.0.0.1', port } }))
  const pool = { balancing, ...(maxConnectionAgeMs > 0 && { maxConnectionAgeMs }) }
  const opened = await relay.set(listenerSpec(endpoints.slice(0, 3), { pool }))
  if (!opened.ok) throw new Error(opened.message)
  const asking = start('ask', protocol, `127.0.0.1:${opened.address.port}`, String(clients), think)
  for (let client = 0; client < clients; client++) await asking.line()
  await relay.set(listenerSpec(endpoints, { pool, address: opened.address }))
  const deadlineMs = performance.now() + 2 * ageMs
  let skew = skewOf(relay)
  while (skew >= 1.5 && performance.now() < deadlineMs) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    skew = Math.min(skew, skewOf(relay))
  }
  asking.stop()
  const met = JSON.parse(await asking.line()) as Met
  return { skew, met }
}

/** Most open connections of an endpoint, by the even share; while one is on its way, nothing can be said. */
function skewOf(relay: Relay): number {
  const open = [...relay.endpointCounts('web').values()].map(({ active }) => active)
  const all = open.reduce((sum, one) => sum + one, 0)
  return all < clients ? Infinity : Math.max(...open) / (all / open.length)
}

function start(...args: readonly string[]) {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ended = once(child, 'close')
  onTestFinished(async () => {
    child.kill()
    await ended
  })
  return {
    async line(): Promise<string> {
      const { value, done } = await lines.next()
      if (done === true) throw new Error(`keepalive ${args.join(' ')} ended too early`)
      return value
    },
    stop: () => void child.stdin.end('\n'),
  }
}
