/** The engine as it is shipped does all that is asked of it with the few privileges that it keeps. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { silentLogger } from '../../../core/logger.ts'
import { RecordingLogger } from '../../../core/testing/recording-logger.ts'
import { NodeRelay } from '../node/node-relay.ts'
import { relayContract } from '../contract/relay.contract.ts'
import { ask } from '../testing/clients.ts'
import { echoEndpoint, namedEndpoint } from '../testing/endpoints.ts'
import { relayProcess } from '../testing/relay-process.ts'
import { listenerSpec, relayTo, use } from '../testing/relay-under-test.ts'
import { NativeRelay } from './native-relay.ts'
import { SplitRelay } from './split-relay.ts'
import { buildShippedEngine, type BuiltEngine } from './testing/build-engine.ts'
import { capabilities, descriptorsOf, elfOf, statusesOf } from './testing/process-facts.ts'

let engine: BuiltEngine

beforeAll(async () => {
  engine = await buildShippedEngine()
}, 60_000)
afterAll(() => engine[Symbol.asyncDispose]())

const log = new RecordingLogger()
const expectNoTrouble = () => {
  const lines = [...log.at('error'), ...log.at('warn')].filter(({ message }) => message.includes('native relay'))
  log.lines.length = 0
  expect(lines).toEqual([])
}
afterEach(expectNoTrouble)
afterAll(expectNoTrouble)

const start = (mayBeTransparent = false) =>
  NativeRelay.start({ log, clock: systemClock, workers: 2, program: engine.program, mayBeTransparent })

relayContract('the shipped native relay', async (settings, told) => {
  const { program } = engine
  return new SplitRelay({
    tcp: await NativeRelay.start({ log, clock: systemClock, workers: 2, program, settings, ...told }),
    udp: new NodeRelay({ log: silentLogger, clock: systemClock, settings, ...told }),
  })
})

describe('what the engine is left with', () => {
  test.each([
    { mayBeTransparent: false, kept: ['NET_BIND_SERVICE'] as const },
    { mayBeTransparent: true, kept: ['NET_BIND_SERVICE', 'NET_RAW'] as const },
  ])('capabilities, in each of its threads, when mayBeTransparent is $mayBeTransparent', async (given) => {
    const relay = use(await start(given.mayBeTransparent))
    const mine = statusesOf(process.pid)[0]
    if (mine === undefined) throw new Error('this process has no threads')
    const threads = statusesOf(relay.pid)
    expect(threads).toHaveLength(4)
    const most = capabilities(...given.kept)
    // What this process does not have itself it cannot pass on; and only CAP_SETPCAP may narrow the bounds.
    const bounds = (mine.effective & capabilities('SETPCAP')) === 0n ? mine.bounds : mine.bounds & most
    for (const thread of threads)
      expect(thread).toEqual({
        inheritable: 0n,
        permitted: mine.effective & most,
        effective: mine.effective & most,
        bounds,
        ambient: 0n,
        noNewPrivileges: '1',
        seccomp: '2',
      })
  })

  test('no descriptors but its own, whatever Fairlead was started with', async () => {
    const { address: endpoint } = use(await echoEndpoint())
    const relay = await relayProcess({ endpoint, engine }, { openFiles: 1_024, inherited: '/etc/passwd' })
    expect(await ask(relay.address, 'hello')).toBe('hello')
    expect(descriptorsOf(relay.parent)).toContain('/etc/passwd')
    const kinds = new Set(descriptorsOf(relay.pid).map((target) => target.replace(/:\[\d+\]$/, '')))
    expect([...kinds].toSorted()).toEqual([
      '/memfd:fairlead-relay (deleted)',
      'anon_inode:[eventfd]',
      'anon_inode:[eventpoll]',
      'socket',
    ])
  })

  test('an ELF file that lies anywhere in memory, whose tables cannot be overwritten and whose stack cannot be run', ({
    skip,
  }) => {
    const elf = elfOf(engine.program)
    if (elf === undefined) skip('readelf is not installed (apt-get install binutils)')
    expect(elf?.header).toMatch(/Type:\s+DYN/)
    expect(elf?.segments).toMatch(/GNU_STACK.* RW /)
    expect(elf?.segments).toContain('GNU_RELRO')
    expect(elf?.dynamic).toMatch(/\bNOW\b/)
    expect(elf?.symbols).toContain('__stack_chk_fail')
  })
})

// To sort many, a C library may make calls that it makes for few endpoints never.
test('a pool of 200 endpoints is served', async () => {
  const endpoint = use(await namedEndpoint('a'))
  const dead = Array.from({ length: 199 }, (_, index) => ({ address: { ip: `127.9.0.${index}`, port: 9 } }))
  const { address, change } = await relayTo(() => start(), dead)
  await change([...dead, endpoint])
  await change([endpoint])
  expect(await ask(address)).toBe('a')
})

test('a port below 1024 can be listened on where Fairlead may', async ({ skip }) => {
  const mine = statusesOf(process.pid)[0]?.effective ?? 0n
  if ((mine & capabilities('NET_BIND_SERVICE')) === 0n) skip('this process has no CAP_NET_BIND_SERVICE')
  const relay = use(await start())
  const ip = `127.${64 + (process.pid % 128)}.${(process.pid >> 7) % 256}.77`
  expect(await relay.set(listenerSpec([], { address: { ip, port: 771 } }))).toMatchObject({ ok: true })
})
