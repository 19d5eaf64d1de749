import { expect, test, vi } from 'vitest'
import type { Clock } from '../../core/clock.ts'
import { systemClock } from '../../core/clock.ts'
import type { LogFields } from '../../core/logger.ts'
import { silentLogger } from '../../core/logger.ts'
import type { ExecResult } from '../exec/exec.ts'
import { ExecError } from '../exec/exec.ts'
import { CommandIptables } from './command-iptables.ts'
import type { ScriptedExec } from './testing/scripted-exec.ts'
import { scriptedExec } from './testing/scripted-exec.ts'

const never = new AbortController().signal
const tools = { single: 'iptables', save: 'iptables-save', restore: 'iptables-restore' }

test('the command lines are those of kube-proxy', async () => {
  const { commands, iptables } = scripted((command) => ({ exitCode: command.includes(' -C ') ? 1 : 0 }))
  await iptables.isSupported(never)
  await iptables.ensureChain('nat', 'KUBE-SERVICES', never)
  await iptables.ensureRule('nat', 'OUTPUT', ['-m', 'comment', '--comment', 'a b', '-j', 'KUBE-SERVICES'], never)
  await iptables.chainExists('mangle', 'KUBE-PROXY-CANARY', never)
  await iptables.deleteChain('mangle', 'KUBE-PROXY-CANARY', never)
  await iptables.save('nat', never)
  await iptables.restore('*nat\nCOMMIT\n', never)
  expect(commands).toEqual([
    'iptables --version',
    'iptables -w 5 -S POSTROUTING -t nat',
    'iptables -w 5 -N KUBE-SERVICES -t nat',
    'iptables -w 5 -C OUTPUT -t nat -m comment --comment a b -j KUBE-SERVICES',
    'iptables -w 5 -I OUTPUT -t nat -m comment --comment a b -j KUBE-SERVICES',
    'iptables -w 5 -S KUBE-PROXY-CANARY -t mangle',
    'iptables -w 5 -X KUBE-PROXY-CANARY -t mangle',
    'iptables-save -t nat',
    'iptables-restore -w 5 --noflush --counters',
  ])
})

test('a chain was made at exit code 0, was there at 1, and could not be made at 2', async () => {
  for (const [exitCode, made] of [
    [0, true],
    [1, false],
  ] as const)
    expect(await scripted(() => ({ exitCode })).iptables.ensureChain('nat', 'A', never)).toBe(made)
  const failing = scripted(() => ({ exitCode: 2 })).iptables.ensureChain('nat', 'A', never)
  await expect(failing).rejects.toMatchObject({ message: expect.stringContaining('add chain A to table nat') })
})

test('a rule that is there is neither inserted again nor left when it is to go', async () => {
  const { commands, iptables } = scripted(() => ({ exitCode: 0 }))
  expect(await iptables.ensureRule('nat', 'A', ['-j', 'B'], never)).toBe(false)
  expect(await iptables.deleteRule('nat', 'A', ['-j', 'B'], never)).toBe(true)
  expect(commands.slice(1)).toEqual([
    'iptables -w 5 -C A -t nat -j B',
    'iptables -w 5 -C A -t nat -j B',
    'iptables -w 5 -D A -t nat -j B',
  ])
})

test('a rule that could not be looked for is neither inserted nor deleted', async () => {
  const { commands, iptables } = scripted(() => ({ exitCode: 2, stderr: 'iptables: unknown option "--bogus"' }))
  await expect(iptables.ensureRule('nat', 'A', ['--bogus'], never)).rejects.toMatchObject({ reason: 'refused' })
  await expect(iptables.deleteRule('nat', 'A', ['--bogus'], never)).rejects.toMatchObject({ reason: 'refused' })
  expect(commands.filter((command) => / -[ID] /.test(command))).toEqual([])
})

test('a rule that could not be inserted is an error', async () => {
  const { iptables } = scripted((command) => ({ exitCode: command.includes(' -C ') ? 1 : 3 }))
  await expect(iptables.ensureRule('nat', 'A', ['-j', 'B'], never)).rejects.toThrow(
    'insert the rule "-j B" into chain A',
  )
})

test('a chain is missing at exit code 1, but not when only the lock could not be had', async () => {
  expect(await scripted(() => ({ exitCode: 1 })).iptables.chainExists('nat', 'A', never)).toBe(false)
  const stderr = 'Another app is currently holding the xtables lock. Stopped waiting after 5s.'
  const locked = scripted(() => ({ exitCode: 4, stderr })).iptables.chainExists('nat', 'A', never)
  await expect(locked).rejects.toMatchObject({ reason: 'locked' })
})

test('warnings on standard error are not part of what was saved', async () => {
  const { iptables } = scripted(() => ({
    stdout: '*nat\nCOMMIT\n',
    stderr: '# Warning: iptables-legacy tables present',
  }))
  expect(await iptables.save('nat', never)).toBe('*nat\nCOMMIT\n')
})

test('a family without tools is not supported, and says what is missing when used', async () => {
  const { exec } = scriptedExec(() => undefined)
  const iptables = new CommandIptables({ family: 'ipv6', tools, exec, clock: systemClock, log: silentLogger })
  expect(await iptables.isSupported(never)).toBe(false)
  await expect(iptables.features(never)).rejects.toMatchObject({ reason: 'tool-missing' })
  await expect(iptables.restore('', never)).rejects.toMatchObject({ reason: 'tool-missing' })
})

test.each(['cannot-start', 'too-much-output'] as const)(
  'a tool that did not run (%s) has refused nothing',
  async (reason) => {
    const { iptables } = scripted(() => Promise.reject(new ExecError(reason, 'spawn EAGAIN')))
    await expect(iptables.restore('', never)).rejects.toMatchObject({ reason: 'cannot-run' })
  },
)

test('a family that the kernel lacks is not supported', async () => {
  const stderr = "can't initialize ip6tables table `nat': Table does not exist (do you need to insmod?)"
  expect(await scripted(() => ({ exitCode: 3, stderr })).iptables.isSupported(never)).toBe(false)
})

test('tools that are too old are an error, not a family that is missing', async () => {
  const { exec } = scriptedExec(() => ({ stdout: 'iptables v1.4.21' }))
  const iptables = new CommandIptables({ family: 'ipv4', tools, exec, clock: systemClock, log: silentLogger })
  await expect(iptables.isSupported(never)).rejects.toMatchObject({
    reason: 'unsupported',
    message: expect.stringContaining('install 1.6.2 or newer'),
  })
})

test('a version that could not be read is asked for again', async () => {
  let works = false
  const { exec, commands } = scriptedExec(() => ({ stdout: works ? 'iptables v1.8.9 (legacy)' : '' }))
  const iptables = new CommandIptables({ family: 'ipv4', tools, exec, clock: systemClock, log: silentLogger })
  await expect(iptables.features(never)).rejects.toMatchObject({ reason: 'unsupported' })
  works = true
  expect(await iptables.features(never)).toMatchObject({ version: '1.8.9', variant: 'legacy' })
  expect(await iptables.features(never)).toMatchObject({ version: '1.8.9' })
  expect(commands).toEqual(['iptables --version', 'iptables --version'])
})

test('a change does not wait for a table that is being read', async () => {
  let finishReading = () => {}
  const { iptables, commands } = scripted(async (command) => {
    if (command.includes('-save')) await new Promise<void>((resolve) => (finishReading = resolve))
    return {}
  })
  const reading = iptables.save('nat', never)
  await vi.waitUntil(() => commands.some((command) => command.includes('-save')))
  await iptables.restore('', never)
  expect(commands.at(-1)).toContain('-restore')
  finishReading()
  await reading
})

test('commands that change something run one after the other, also after one that failed', async () => {
  let running = 0
  let most = 0
  const { iptables, commands } = scripted(async () => {
    most = Math.max(most, ++running)
    await new Promise((resolve) => setImmediate(resolve))
    running--
    return { exitCode: commands.length % 2 === 0 ? 4 : 0 }
  })
  const all = [
    iptables.restore('', never),
    iptables.chainExists('nat', 'A', never),
    iptables.ensureRule('nat', 'A', ['-j', 'B'], never),
    iptables.restore('', never),
  ]
  await Promise.allSettled(all)
  expect(most).toBe(1)
  expect(commands.length).toBeGreaterThan(4)
})

test('a command that takes more than two seconds is logged', async () => {
  let nowMs = 0
  const clock: Clock = { ...systemClock, monotonic: () => nowMs }
  const logged: [string, LogFields | undefined][] = []
  const log = { ...silentLogger, info: (message: string, fields?: LogFields) => void logged.push([message, fields]) }
  const { exec } = scriptedExec((command) => {
    if (command.startsWith('iptables-restore')) nowMs += 2500
    return { stdout: 'iptables v1.8.9 (legacy)' }
  })
  const iptables = new CommandIptables({ family: 'ipv4', tools, exec, clock, log })
  await iptables.save('nat', never)
  expect(logged).toEqual([])
  await iptables.restore('*nat\nCOMMIT\n', never)
  const command = 'iptables-restore -w 5 --noflush --counters'
  expect(logged).toEqual([['iptables was slow', { command, durationMs: 2500, inputBytes: 12 }]])
})

/** An iptables 1.8.9 whose commands, except --version, give these results. */
function scripted(
  answer: (command: string) => Partial<ExecResult> | Promise<Partial<ExecResult>>,
): ScriptedExec & { readonly iptables: CommandIptables } {
  const script = scriptedExec((command) =>
    command.endsWith('--version') ? { stdout: 'iptables v1.8.9 (legacy)\n' } : answer(command),
  )
  const iptables = new CommandIptables({
    family: 'ipv4',
    tools,
    exec: script.exec,
    clock: systemClock,
    log: silentLogger,
  })
  return { ...script, iptables }
}

test.each([
  { is: 'there', answer: { stdout: 'bpf match options:' }, has: true },
  { is: 'no part of iptables', answer: { exitCode: 2, stderr: "Couldn't load match `bpf':No such file" }, has: false },
  {
    is: 'no part of the kernel',
    answer: { stderr: 'Warning: Extension bpf revision 0 not supported, missing kernel module?' },
    has: false,
  },
])('a match that is $is', async ({ answer, has }) => {
  const { iptables, commands } = scripted(() => answer)
  expect(await iptables.hasMatch('bpf', never)).toBe(has)
  expect(commands.at(-1)).toBe('iptables -w 5 -m bpf --help')
})

test('a tool that fails for another reason says nothing about a match', async () => {
  const { iptables } = scripted(() => ({ exitCode: 4, stderr: 'Fatal: out of memory' }))
  await expect(iptables.hasMatch('bpf', never)).rejects.toThrow('ask for the match bpf')
})
