/** What netsh may answer, call by call. */
import { setMaxListeners } from 'node:events'
import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { ExecError } from '../exec/exec.ts'
import type { Exec, ExecResult } from '../exec/exec.ts'
import { scriptedExec } from '../iptables/testing/scripted-exec.ts'
import { CommandNetsh } from './command-netsh.ts'
import type { Netsh } from './netsh.ts'

const { signal } = new AbortController()
setMaxListeners(0, signal)
const ip = '10.96.0.10'
const listed = { stdout: `IP Address: ${ip}\r\n` }
const empty = { stdout: 'DHCP enabled: No\r\n' }
const failed = { exitCode: 1, stdout: '\r\nThe object already exists.\r\n\r\n' }

test('110: an address is there at the second look, half a second after the first', async () => {
  const { netsh, clock, actions } = scripted({ add: [{}], show: [empty, listed] })
  const adding = netsh.add(ip, signal)
  await clock.advance(499)
  expect(actions).toEqual(['add', 'show'])
  await clock.advance(1)
  expect(await adding).toBe('added')
  expect(actions).toEqual(['add', 'show', 'show'])
})

test('110: an address that is listed but cannot be used yet is waited for', async () => {
  let isUsable = false
  const { netsh, clock, actions } = scripted({ add: [{}], show: [listed] }, async () => isUsable)
  const adding = netsh.add(ip, signal)
  await clock.advance(3_000)
  isUsable = true
  await clock.advance(500)
  expect(await adding).toBe('added')
  expect(actions).toEqual(['add', 'show'])
})

test('118: an address that never appears is given up after 30 s', async () => {
  const { netsh, clock, actions } = scripted({ add: [{}], show: [empty] })
  const failure = failureOf(netsh.add(ip, signal))
  await clock.advance(30_000)
  expect(await failure).toMatchObject({
    reason: 'not-usable',
    message:
      '10.96.0.10 was added to the interface "Ethernet 2", but could not be used for 30 s: see whether another machine ' +
      'has this address, and whether the interface is up',
  })
  expect(actions.filter((action) => action === 'add')).toHaveLength(1)
  expect(clock.sleeping).toBe(0)
})

test('114: a listing that fails while an address is waited for counts as not listed', async () => {
  const { netsh, clock } = scripted({ add: [{}], show: [{ exitCode: 1 }, listed] })
  const adding = netsh.add(ip, signal)
  await clock.advance(500)
  expect(await adding).toBe('added')
})

test('111: an address that netsh refuses to add, and that sockets can use, is on another interface', async () => {
  const { netsh, actions } = scripted({ add: [failed], show: [empty] }, async () => true)
  expect(await netsh.add(ip, signal)).toBe('was-there')
  expect(actions).toEqual(['add', 'show'])
})

test('111, unlike upstream: an address that is nowhere is an error, after three attempts', async () => {
  const { netsh, clock, actions } = scripted(
    { add: [{ exitCode: 1, stdout: 'The parameter is incorrect.\r\n' }], show: [empty] },
    async () => false,
  )
  const failure = failureOf(netsh.add(ip, signal))
  await clock.advance(1_500)
  expect(await failure).toMatchObject({
    reason: 'refused',
    exitCode: 1,
    message: 'netsh did not add 10.96.0.10 to the interface "Ethernet 2": The parameter is incorrect.',
  })
  expect(actions.filter((action) => action === 'add')).toHaveLength(3)
})

test('a failure that passes is not even noticed', async () => {
  const { netsh, clock } = scripted({ add: [failed, {}], show: [empty, listed] }, usableAfter(1))
  const adding = netsh.add(ip, signal)
  await clock.advance(500)
  expect(await adding).toBe('added')
})

test('111: a netsh that cannot be run is an error', async () => {
  const netsh = new CommandNetsh({
    exec: scriptedExec(() => undefined).exec,
    interfaceName: 'x',
    clock: new FakeClock(),
  })
  await expect(netsh.add(ip, signal)).rejects.toMatchObject({
    reason: 'tool-missing',
    message: 'cannot change the addresses of "x": there is no program "netsh"',
  })
})

test('a netsh that hangs is killed; what it may have added is ours', async () => {
  const hung = new ExecError('timeout', 'killed "netsh": it ran longer than 10000 ms')
  const { netsh, clock, limits } = scripted({ add: [hung, failed], show: [listed] })
  const adding = netsh.add(ip, signal)
  await clock.advance(500)
  expect(await adding).toBe('added')
  expect(new Set(limits)).toEqual(new Set([10_000]))
})

test('112: netsh removes an address, or an error says why not', async () => {
  await scripted({ delete: [{}] }).netsh.remove(ip, signal)
  const { netsh, clock } = scripted({ delete: [{ exitCode: 1, stdout: 'Not now.' }], show: [listed] })
  const failure = failureOf(netsh.remove(ip, signal))
  await clock.advance(1_500)
  expect(await failure).toMatchObject({
    reason: 'refused',
    exitCode: 1,
    message: 'netsh did not remove 10.96.0.10 from the interface "Ethernet 2": Not now.',
  })
})

test.each([
  'Als Administrator ausführen.',
  'Exécuter en tant qu’administrateur',
  '以管理员身份运行',
  'от имени администратора',
])('whoever is no administrator is told so, at once: %s', async (stdout) => {
  const { netsh, actions } = scripted({ add: [{ exitCode: 1, stdout }] })
  await expect(netsh.add(ip, signal)).rejects.toMatchObject({ reason: 'not-permitted' })
  expect(actions).toEqual(['add'])
})

test('however many addresses come at once, four programs run at a time, and one that is stuck takes no turn', async () => {
  const running = new Set<string>()
  let most = 0
  const exec: Exec = async (_, args) => {
    const call = args.join()
    running.add(call)
    most = Math.max(most, running.size)
    await new Promise((resolve) => setImmediate(resolve))
    running.delete(call)
    const stdout = Array.from({ length: 20 }, (__, index) => `IP Address: 10.96.0.${index}`).join('\n')
    return { exitCode: 0, signal: null, stdout, stderr: '' }
  }
  const clock = new FakeClock()
  const canUse = async (address: string) => address !== '10.96.0.0'
  const netsh = new CommandNetsh({ exec, interfaceName: 'x', clock, canUse })
  const stop = new AbortController()
  const stuck = netsh.add('10.96.0.0', stop.signal)
  const others = Array.from({ length: 19 }, (__, index) => netsh.add(`10.96.0.${index + 1}`, signal))
  expect(new Set(await Promise.all(others))).toEqual(new Set(['added']))
  expect(most).toBe(4)
  stop.abort(new Error('stopping'))
  await expect(stuck).rejects.toThrow('stopping')
})

test('however many addresses come at once, they are looked for together', async () => {
  const { netsh, runs } = machineWith(0)
  const ips = manyIps(300)
  expect(new Set(await Promise.all(ips.map((each) => netsh.add(each, signal))))).toEqual(new Set(['added']))
  expect(runs.filter((action) => action === 'add')).toHaveLength(300)
  expect(runs.filter((action) => action === 'show').length).toBeLessThan(10)
})

test('addresses that cannot be removed are looked for together, too', async () => {
  const { netsh, clock, runs } = machineWith(300, { refusesToRemove: true })
  const stop = new AbortController()
  setMaxListeners(0, stop.signal)
  const removing = Promise.allSettled(manyIps(300).map((each) => netsh.remove(each, stop.signal)))
  // Until the next attempt.
  await expect.poll(() => clock.sleeping).toBe(300)
  expect(runs.filter((action) => action === 'delete')).toHaveLength(300)
  expect(runs.filter((action) => action === 'show').length).toBeLessThan(10)
  stop.abort(new Error('stopping'))
  expect(new Set((await removing).map(({ status }) => status))).toEqual(new Set(['rejected']))
})

test('a listing that began before an address was added says nothing about it', async () => {
  const ips = new Set<string>()
  const [listingBegan, goOn] = [signalled<void>(), signalled<void>()]
  let shows = 0
  const exec: Exec = async (_, args) => {
    const stdout = [...ips].map((each) => `IP Address: ${each}\r\n`).join('')
    if (args[2] === 'add') ips.add(ip)
    if (args[2] === 'show' && shows++ === 0) {
      listingBegan.resolve()
      await goOn.promise
    }
    return { exitCode: 0, signal: null, stdout, stderr: '' }
  }
  const clock = new FakeClock()
  const netsh = new CommandNetsh({ exec, interfaceName: 'x', clock, canUse: async () => true })
  const early = netsh.list('ipv4', signal)
  await listingBegan.promise
  expect(await netsh.add(ip, signal)).toBe('added')
  goOn.resolve()
  expect(await early).toEqual([])
  expect(shows).toBe(2)
})

test('who leaves does not take the listing from the others; when all have left, it is killed', async () => {
  const killed: unknown[] = []
  const answer = signalled<ExecResult>()
  const exec: Exec = (_, __, options) => {
    options.signal.addEventListener('abort', () => {
      killed.push(options.signal.reason)
      answer.reject(options.signal.reason as Error)
    })
    return answer.promise
  }
  const netsh = new CommandNetsh({ exec, interfaceName: 'x', clock: new FakeClock() })
  const [one, two] = [new AbortController(), new AbortController()]
  const [first, second] = [netsh.list('ipv4', one.signal), netsh.list('ipv4', two.signal)]
  one.abort(new Error('one left'))
  await expect(first).rejects.toThrow('one left')
  expect(killed).toEqual([])
  two.abort(new Error('two left'))
  await expect(second).rejects.toThrow('two left')
  expect(killed).toHaveLength(1)
})

test('of a netsh that talks without end the first words are told', async () => {
  const { netsh, clock } = scripted({ delete: [{ exitCode: 1, stdout: 'no '.repeat(1_000_000) }], show: [listed] })
  const failure = failureOf(netsh.remove(ip, signal))
  await clock.advance(1_500)
  const { message } = (await failure) as Error
  expect(message).toContain('no no no')
  expect(message.length).toBeLessThan(1_000)
})

test('only a listing may be long', async () => {
  const { netsh, outputLimits } = scripted({ add: [{}], show: [listed], delete: [{}] })
  await netsh.add(ip, signal)
  await netsh.remove(ip, signal)
  expect(outputLimits).toEqual({ add: 65_536, show: 8_388_608, delete: 65_536 })
})

test('waiting ends when it is aborted', async () => {
  const { netsh, clock } = scripted({ add: [{}], show: [empty] })
  const stop = new AbortController()
  const adding = netsh.add(ip, stop.signal)
  await clock.advance(700)
  stop.abort(new Error('stopping'))
  await expect(adding).rejects.toThrow('stopping')
  expect(clock.sleeping).toBe(0)
})

/** Caught at once, before time passes. */
function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'it succeeded',
    (error: unknown) => error,
  )
}

type Answer = Partial<ExecResult> | Error

/** Answers for each action in turn; the last one goes on. */
function scripted(
  answers: Readonly<Record<string, readonly Answer[]>>,
  canUse: () => Promise<boolean> = async () => true,
) {
  const [clock, actions, limits] = [new FakeClock(), [] as string[], [] as (number | undefined)[]]
  const outputLimits: Record<string, number | undefined> = {}
  const exec: Exec = async (_, [, , action = ''], { timeoutMs, maxStdoutBytes }) => {
    outputLimits[action] = maxStdoutBytes
    const earlier = actions.filter((each) => each === action).length
    actions.push(action)
    limits.push(timeoutMs)
    const script = answers[action] ?? []
    const answer = script[Math.min(earlier, script.length - 1)] ?? new Error(`nobody expected ${action}`)
    if (answer instanceof Error) throw answer
    return { exitCode: 0, signal: null, stdout: '', stderr: '', ...answer }
  }
  const netsh: Netsh = new CommandNetsh({ exec, interfaceName: 'Ethernet 2', clock, canUse })
  return { netsh, clock, actions, limits, outputLimits }
}

/** Node.js 20 has no Promise.withResolvers. */
function signalled<T>() {
  let [resolve, reject]: [(value: T) => void, (error: Error) => void] = [() => {}, () => {}]
  const promise = new Promise<T>((...ends) => ([resolve, reject] = ends))
  return { promise, resolve, reject }
}

function manyIps(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `10.96.${index >> 8}.${index & 255}`)
}

/** A machine whose interface has so many addresses. Each run takes a turn of the event loop. */
function machineWith(count: number, { refusesToRemove = false } = {}) {
  const [ips, runs, clock] = [new Set(manyIps(count)), [] as string[], new FakeClock()]
  const exec: Exec = async (_, [, , action = '', ...args]) => {
    runs.push(action)
    await new Promise((resolve) => setImmediate(resolve))
    const named = args.find((arg) => arg.startsWith('address='))?.slice('address='.length) ?? ''
    if (action === 'add') ips.add(named)
    const isRefused = action === 'delete' && refusesToRemove
    if (action === 'delete' && !isRefused) ips.delete(named)
    const stdout = action === 'show' ? [...ips].map((each) => `IP Address: ${each}\r\n`).join('') : ''
    return { exitCode: isRefused ? 1 : 0, signal: null, stdout, stderr: '' }
  }
  const netsh: Netsh = new CommandNetsh({ exec, interfaceName: 'x', clock, canUse: async () => true })
  return { netsh, runs, clock }
}

function usableAfter(looks: number): () => Promise<boolean> {
  let looked = 0
  return async () => looked++ >= looks
}
