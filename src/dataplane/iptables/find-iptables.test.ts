import { expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import type { Family } from '../../net/ip.ts'
import type { Exec } from '../exec/exec.ts'
import { findIptables, iptablesOfHost } from './find-iptables.ts'
import type { Iptables, Variant } from './iptables.ts'
import { createNamespace, missingForRealTools } from './testing/network-namespace.ts'
import { scriptedExec } from './testing/scripted-exec.ts'

const never = new AbortController().signal
const hint = '*mangle\n:PREROUTING ACCEPT [0:0]\n:KUBE-IPTABLES-HINT - [0:0]\nCOMMIT\n'
const canary = '*mangle\n:KUBE-KUBELET-CANARY - [0:0]\nCOMMIT\n'
const others = '*mangle\n:KUBE-PROXY-CANARY - [0:0]\n-A FORWARD -j KUBE-IPTABLES-HINT-NOT\nCOMMIT\n'

/** On a host with both variants: the chains that each tool finds, and the variant that is chosen. */
const hosts: readonly { readonly host: string; readonly saved: Record<string, string>; readonly uses: string }[] = [
  { host: 'no hint', saved: {}, uses: 'iptables-nft' },
  { host: 'a hint in nf_tables', saved: { 'iptables-nft': 'KUBE-IPTABLES-HINT' }, uses: 'iptables-nft' },
  { host: 'a hint in IPv6 nf_tables', saved: { 'ip6tables-nft': 'KUBE-KUBELET-CANARY' }, uses: 'iptables-nft' },
  { host: 'a hint in legacy', saved: { 'iptables-legacy-save': hint }, uses: 'iptables-legacy' },
  { host: 'a hint in IPv6 legacy', saved: { 'ip6tables-legacy-save': canary }, uses: 'iptables-legacy' },
  {
    host: 'a hint in both',
    saved: { 'iptables-nft': 'KUBE-KUBELET-CANARY', 'iptables-legacy-save': hint },
    uses: 'iptables-nft',
  },
  {
    host: 'only chains of others',
    saved: { 'iptables-nft': 'KUBE-PROXY-CANARY', 'iptables-legacy-save': others },
    uses: 'iptables-nft',
  },
]

/** A host with both variants. */
function hostWith(saved: Record<string, string>) {
  return scriptedExec((command) => {
    const [, tool = '', chain = ''] = /^(\S+-nft) -t mangle -S (\S+)$/.exec(command) ?? []
    if (tool !== '') return { exitCode: saved[tool] === chain ? 0 : 1 }
    return { stdout: saved[command] ?? 'iptables v1.8.9' }
  })
}

for (const { host, saved, uses } of hosts)
  test(`with ${host}, ${uses} is used`, async () => {
    const { exec, commands } = hostWith(saved)
    const iptables = await find(exec, 'ipv4')
    await iptables.restore('', never)
    expect(commands.at(-1)).toBe(`${uses}-restore -w 5 --noflush --counters`)
  })

test('a host is asked once for both families, however often they are wanted', async () => {
  const { exec, commands } = hostWith({ 'iptables-legacy-save': hint })
  const iptablesOf = iptablesOfHost({ exec, clock: systemClock, log: silentLogger })
  const [first, second, other] = await Promise.all([
    iptablesOf('ipv4', never),
    iptablesOf('ipv4', never),
    iptablesOf('ipv6', never),
  ])
  expect(second).toBe(first)
  await other.restore('', never)
  expect(commands.at(-1)).toBe('ip6tables-legacy-restore -w 5 --noflush --counters')
  expect(commands.filter((command) => command === 'iptables-legacy-save')).toHaveLength(1)
})

test("legacy tables that may not be read are not taken for nobody's", async () => {
  const { exec } = scriptedExec((command) => {
    if (command.includes(' -S ')) return { exitCode: 1 }
    if (command !== 'iptables-legacy-save') return { stdout: 'iptables v1.8.9' }
    return {
      exitCode: 1,
      stderr: 'iptables-save v1.8.9 (legacy): Cannot initialize: Permission denied (you must be root)\n',
    }
  })
  await expect(find(exec, 'ipv4')).rejects.toMatchObject({
    reason: 'not-permitted',
    message: expect.stringMatching(/^iptables-legacy-save may not read .*CAP_NET/) as string,
  })
})

test('a host that could not be asked is asked again', async () => {
  const { exec } = hostWith({})
  let isBroken = true
  const moody: Exec = (...args) => (isBroken ? Promise.reject(new Error('stop')) : exec(...args))
  const iptablesOf = iptablesOfHost({ exec: moody, clock: systemClock, log: silentLogger })
  await expect(iptablesOf('ipv4', never)).rejects.toThrow('stop')
  isBroken = false
  expect((await iptablesOf('ipv4', never)).family).toBe('ipv4')
})

test('with one variant only, the plain names are used', async () => {
  for (const absent of ['iptables-legacy', 'iptables-nft']) {
    const { exec, commands } = scriptedExec((command) =>
      command.startsWith(absent) ? undefined : { stdout: 'iptables v1.8.9' },
    )
    const iptables = await find(exec, 'ipv6')
    await iptables.save('nat', never)
    expect(commands.at(-1)).toBe('ip6tables-save -t nat')
  }
})

test('a variant can be forced, and then nothing is looked for', async () => {
  const { exec, commands } = scriptedExec(() => ({ stdout: 'iptables v1.8.9' }))
  await find(exec, 'ipv4', 'legacy')
  expect(commands).toEqual([])
})

test('a host without any tool gives a family that is not supported', async () => {
  const { exec } = scriptedExec(() => undefined)
  const iptables = await find(exec, 'ipv4')
  expect(await iptables.isSupported(never)).toBe(false)
})

const missing = missingForRealTools(['iptables-nft', 'iptables-legacy', 'ip6tables-nft', 'ip6tables-legacy'])
for (const variant of ['nf_tables', 'legacy'] as const)
  test.skipIf(missing !== undefined)(
    `real tools: the ${variant} variant is found by the chain that kubelet made ${missing ?? ''}`,
    async () => {
      await using namespace = await createNamespace()
      const kubelet = await find(namespace.exec, 'ipv4', variant)
      await kubelet.ensureChain('mangle', 'KUBE-IPTABLES-HINT', never)
      for (const family of ['ipv4', 'ipv6'] as const) {
        const ours = await find(namespace.exec, family)
        expect(await ours.features(never)).toMatchObject({ variant })
      }
    },
  )

function find(exec: Exec, family: Family, variant?: Variant): Promise<Iptables> {
  const options = { family, exec, clock: systemClock, log: silentLogger, signal: never }
  return findIptables(variant === undefined ? options : { ...options, variant })
}
