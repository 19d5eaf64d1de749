/** What netsh may answer, call by call. */
import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { ExecError } from '../exec/exec.ts'
import type { Exec, ExecResult } from '../exec/exec.ts'
import { scriptedExec } from '../iptables/testing/scripted-exec.ts'
import { CommandNetsh } from './command-netsh.ts'
import type { Netsh } from './netsh.ts'

const { signal } = new AbortController()
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
): { netsh: Netsh; clock: FakeClock; actions: string[]; limits: (number | undefined)[] } {
  const [clock, actions, limits] = [new FakeClock(), [] as string[], [] as (number | undefined)[]]
  const exec: Exec = async (_, [, , action = ''], { timeoutMs }) => {
    const earlier = actions.filter((each) => each === action).length
    actions.push(action)
    limits.push(timeoutMs)
    const script = answers[action] ?? []
    const answer = script[Math.min(earlier, script.length - 1)] ?? new Error(`nobody expected ${action}`)
    if (answer instanceof Error) throw answer
    return { exitCode: 0, signal: null, stdout: '', stderr: '', ...answer }
  }
  return { netsh: new CommandNetsh({ exec, interfaceName: 'Ethernet 2', clock, canUse }), clock, actions, limits }
}

function usableAfter(looks: number): () => Promise<boolean> {
  let looked = 0
  return async () => looked++ >= looks
}
