/**
 * Our server with a client in Go, and our client with a server in Go. KPNG's own modules cannot be had from the module
 * proxy any more; what speaks here is Go's gRPC and protobuf in the versions that KPNG used last, with messages made
 * from our .proto files and behaviour as the specification of KPNG has it.
 */
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { silentLogger } from '../../src/core/logger.ts'
import type { ChangeSet } from '../../src/kpng/client/change-set.ts'
import { LocalState } from '../../src/kpng/client/local-state.ts'
import type { ServiceChange } from '../../src/kpng/client/local-state.ts'
import { WatchClient } from '../../src/kpng/client/watch-client.ts'
import { sampleNode, sampleService, setEndpoints, syncedStore } from '../../src/kpng/testing/cluster-samples.ts'
import { testServer } from '../../src/kpng/testing/test-server.ts'
import { buildGo } from './build-go.ts'

const hasGo = spawnSync('go', ['version']).status === 0
let program = ''

describe.skipIf(!hasGo)(`a peer in Go${hasGo ? '' : ' [skipped: there is no go]'}`, { timeout: 120_000 }, () => {
  beforeAll(async () => {
    program = await buildGo(new URL('.', import.meta.url))
  }, 600_000)

  test('understands our local stream, and would write the same bytes', async () => {
    const store = syncedStore()
    store.setService(sampleService('default/web', { Labels: { a: '', b: '2' }, ...withAffinity }))
    setEndpoints(store, 'default/web', [{ ip: '10.244.1.5', pod: 'web-0', node: 'node-a' }])
    await using server = await testServer(store)
    await using go = new GoPeer('watch', server.address, 'node-a')
    const first = await go.nextChangeSet()
    expect(first.map(pathOf)).toEqual(['reset', '+ 1 default/web', '+ 2 default/web/web-0', 'sync'])
    expectSameBytes(first)

    store.setService(sampleService('default/other'))
    expect((await go.nextChangeSet()).map(pathOf)).toEqual(['+ 1 default/other', 'sync'])
    store.deleteService('default/web')
    setEndpoints(store, 'default/web', [])
    expect(await go.nextChangeSet()).toEqual(['- 2 default/web/web-0', '- 1 default/web', 'sync'])
  })

  test('is told nothing of traces unless it asks, and can read on if it does', async () => {
    const store = syncedStore()
    await using server = await testServer(store)
    await using plain = new GoPeer('watch', server.address, 'node-a')
    await using asking = new GoPeer('watch-with-causes', server.address, 'node-a')
    for (const go of [plain, asking]) expect((await go.nextChangeSet()).map(pathOf)).toEqual(['reset', 'sync'])
    const context = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }
    store.caused(context, () => store.setService(sampleService('default/web')))
    const told = await plain.nextChangeSet()
    expect(told.map(pathOf)).toEqual(['+ 1 default/web', 'sync'])
    expectSameBytes(told)
    expect((await asking.nextChangeSet()).map(pathOf)).toEqual(['+ 1 default/web', 'sync+unknown'])
    store.deleteService('default/web')
    for (const go of [plain, asking]) expect(await go.nextChangeSet()).toEqual(['- 1 default/web', 'sync'])
  })

  test('understands our global stream, and would write the same bytes', async () => {
    const store = syncedStore()
    store.setNode(sampleNode('node-a', 'z1'))
    store.setService(sampleService('default/web'))
    setEndpoints(store, 'default/web', [{ ip: '10.244.1.5', pod: 'web-0', zones: ['z1'] }])
    await using server = await testServer(store)
    await using go = new GoPeer('watch-global', server.address)
    const first = await go.nextChangeSet()
    expect(first.map(pathOf).map((path) => path.replace(/[\da-f]{14,}$/, 'HASH'))).toEqual([
      'reset',
      '+ 12 |node-a||',
      '+ 10 default|web||',
      '+ 11 default|web|web-abcde|HASH',
      'sync',
    ])
    expectSameBytes(first)
  })

  test('is understood by our client, with Reset and without, with an empty change set, and over a new stream', async () => {
    await using go = new GoPeer('serve', 'tcp://127.0.0.1:0')
    const address = /listening on (.*)/.exec(await go.nextLine())?.[1] ?? ''
    await using follower = follow(address)
    go.say(['reset', '+ 1 default/web 80', '+ 2 default/web/web-0 10.1.0.1', 'sync'])
    expect(await follower.next()).toEqual(['new default/web 80: 10.1.0.1'])
    expect(await go.nextLine()).toBe('asked for node-a')

    go.say(['sync']) // the first answer of a server for load tests
    expect(await follower.next()).toEqual([])
    go.say(['+ 99 something/new 1', '+ 2 default/web/web-1 10.1.0.2', '- 2 default/web/web-0', 'sync'])
    expect(await follower.next()).toEqual(['changed default/web 80: 10.1.0.2'])

    // A partial change set, then the end: it never happened.
    go.say(['- 2 default/web/web-1', 'end'])
    go.say(['+ 1 default/web 80', '+ 2 default/web/web-1 10.1.0.2', 'sync'])
    expect(await follower.next()).toEqual([])
    go.say(['- 2 default/web/web-1', '- 1 default/web', 'sync'])
    expect(await follower.next()).toEqual(['gone default/web'])
  })
})

const withAffinity = { SessionAffinity: { $case: 'ClientIP', value: { TimeoutSeconds: 60 } } } as const

/** Without the payload. */
function pathOf(line: string): string {
  return line.split(' ').slice(0, 3).join(' ')
}

function expectSameBytes(lines: readonly string[]): void {
  for (const line of lines.filter((text) => text.startsWith('+'))) {
    const [received, again] = line.split(' ').slice(3)
    expect(received).toBe(again)
  }
}

class GoPeer implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #lines: AsyncIterator<string>

  constructor(...args: readonly string[]) {
    this.#child = spawn(program, args)
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  /** To a client: ask, and tell what comes. */
  async nextChangeSet(): Promise<string[]> {
    this.#child.stdin.write('\n')
    const lines: string[] = []
    while (lines.at(-1)?.startsWith('sync') !== true) lines.push(await this.nextLine())
    return lines
  }

  /** To a server: send this when you are asked next. */
  say(operations: readonly string[]): void {
    this.#child.stdin.write(`${JSON.stringify(operations)}\n`)
  }

  async nextLine(): Promise<string> {
    const { value, done } = await this.#lines.next()
    if (done === true) throw new Error('the Go peer ended')
    return value
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
  }
}

/** Our client, with what each change set means. */
function follow(target: string) {
  const client = new WatchClient({
    target,
    tls: undefined,
    allowsPlaintext: false,
    maxMessageBytes: 4 << 20,
    clock: systemClock,
    random: () => 0,
    log: silentLogger,
  })
  const state = new LocalState(silentLogger)
  const stop = new AbortController()
  const seen: string[][] = []
  const apply = (changes: ChangeSet) => {
    seen.push(state.apply(changes).map(describeChange))
  }
  const running = client.follow({ api: 'local', node: 'node-a', wantsUnscoped: false }, apply, stop.signal)
  let taken = 0
  return {
    async next(): Promise<string[]> {
      await expect.poll(() => seen.length, { timeout: 30_000, interval: 10 }).toBeGreaterThan(taken)
      return seen[taken++] ?? []
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
    },
  }
}

function describeChange({ path, before, after }: ServiceChange): string {
  if (after === undefined) return `gone ${path}`
  const addresses = [...after.endpointsByKey.values()].flatMap(({ IPs }) => IPs?.V4 ?? [])
  return `${before === undefined ? 'new' : 'changed'} ${path} ${after.service.Ports[0]?.Port}: ${addresses.join(', ')}`
}
