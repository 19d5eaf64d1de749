import { expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import type { Family } from '../../net/ip.ts'
import type { Exec } from '../exec/exec.ts'
import { findIptables } from './find-iptables.ts'
import type { Iptables, Variant } from './iptables.ts'
import { createNamespace, missingForRealTools } from './testing/network-namespace.ts'
import { scriptedExec } from './testing/scripted-exec.ts'

const never = new AbortController().signal
const hint = '*mangle\n:PREROUTING ACCEPT [0:0]\n:KUBE-IPTABLES-HINT - [0:0]\nCOMMIT\n'
const canary = '*mangle\n:KUBE-KUBELET-CANARY - [0:0]\nCOMMIT\n'
const others = '*mangle\n:KUBE-PROXY-CANARY - [0:0]\n-A FORWARD -j KUBE-IPTABLES-HINT-NOT\nCOMMIT\n'

/** What each saver of a host with both variants prints, and which variant is then chosen. */
const hosts: readonly { readonly host: string; readonly saved: Record<string, string>; readonly uses: string }[] = [
  { host: 'no hint', saved: {}, uses: 'iptables-nft' },
  { host: 'a hint in nf_tables', saved: { 'iptables-nft-save -t mangle': hint }, uses: 'iptables-nft' },
  { host: 'a hint in IPv6 nf_tables', saved: { 'ip6tables-nft-save -t mangle': canary }, uses: 'iptables-nft' },
  { host: 'a hint in legacy', saved: { 'iptables-legacy-save': hint }, uses: 'iptables-legacy' },
  { host: 'a hint in IPv6 legacy', saved: { 'ip6tables-legacy-save': canary }, uses: 'iptables-legacy' },
  {
    host: 'a hint in both',
    saved: { 'iptables-nft-save -t mangle': canary, 'iptables-legacy-save': hint },
    uses: 'iptables-nft',
  },
  {
    host: 'only chains of others',
    saved: { 'iptables-nft-save -t mangle': others, 'iptables-legacy-save': others },
    uses: 'iptables-nft',
  },
]
for (const { host, saved, uses } of hosts)
  test(`with ${host}, ${uses} is used`, async () => {
    const { exec, commands } = scriptedExec((command) => ({ stdout: saved[command] ?? 'iptables v1.8.9' }))
    const iptables = await find(exec, 'ipv4')
    await iptables.restore('', never)
    expect(commands.at(-1)).toBe(`${uses}-restore -w 5 --noflush --counters`)
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
