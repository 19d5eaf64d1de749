/** What others may do to the kernel. */
import fc from 'fast-check'
import { anyRuleDamage, doRuleDamage } from '../../../dataplane/iptables/testing/rule-damage.ts'
import type { RuleDamage } from '../../../dataplane/iptables/testing/rule-damage.ts'
import { ipvsLink } from '../ipvs-link.ts'
import type { MemoryKernel } from './memory-kernel.ts'

const never = new AbortController().signal

type Vandal = (kernel: MemoryKernel, which: number) => Promise<unknown>

const vandals = {
  'all servers are gone': ({ ipvs }) => ipvs.flush(never),
  'a server is gone': async ({ ipvs }, which) => {
    const server = pick(await ipvs.list(never), which)
    if (server !== undefined) await ipvs.apply([{ kind: 'delete-server', server }], never)
  },
  'a server too much': ({ ipvs, iptables }) =>
    ipvs.apply([{ kind: 'add-server', server: { ...strangeServer, ip: strangeIp[iptables.family] } }], never),
  'another scheduler': async ({ ipvs }, which) => {
    const server = pick(await ipvs.list(never), which)
    if (server !== undefined) await ipvs.apply([{ kind: 'edit-server', server: { ...server, scheduler: 'sh' } }], never)
  },
  'an endpoint is gone': async ({ ipvs }, which) => {
    const server = pick(await ipvs.list(never), which)
    const realServer = pick(server?.realServers ?? [], which)
    if (server !== undefined && realServer !== undefined)
      await ipvs.apply([{ kind: 'delete-real-server', server, realServer }], never)
  },
  'an endpoint too much': async ({ ipvs }, which) => {
    const server = pick(await ipvs.list(never), which)
    if (server !== undefined)
      await ipvs.apply([{ kind: 'add-real-server', server, realServer: { ip: server.ip, port: 9, weight: 1 } }], never)
  },
  'the link is gone': ({ addresses }) => addresses.removeDummy(ipvsLink, never),
  'an address is gone': async ({ addresses }, which) => {
    const ours = (await addresses.list(never)).filter(({ link }) => link === ipvsLink)
    const address = pick(ours, which)
    if (address !== undefined) await addresses.remove(ipvsLink, [address.ip], never)
  },
  'an address too much': async ({ addresses, iptables }) => {
    await addresses.ensureDummy(ipvsLink, never)
    await addresses.add(ipvsLink, [strangeIp[iptables.family]], never)
  },
  'a set is empty': async ({ ipset, setNames }, which) => {
    const set = pick(await ipset.list(setNames, never), which)
    if (set !== undefined) await ipset.flush(set.name, never)
  },
  'a set is gone': ({ ipset, setNames }, which) => ipset.destroy(pick(setNames, which) ?? '', never),
  'an entry is gone': async ({ ipset, setNames }, which) => {
    const filled = (await ipset.list(setNames, never)).filter(({ entries }) => entries.size > 0)
    const set = pick(filled, which)
    const entry = pick([...(set?.entries ?? [])], which)
    if (set !== undefined && entry !== undefined) await ipset.apply([{ kind: 'delete', set: set.name, entry }], never)
  },
  'an entry too much': async ({ ipset, iptables, setNames }) => {
    const set = pick(
      await ipset.list(
        setNames.filter((name) => name.endsWith('CLUSTER-IP')),
        never,
      ),
      0,
    )
    const ip = strangeIp[iptables.family]
    if (set !== undefined) await ipset.apply([{ kind: 'add', set: set.name, entry: `${ip},tcp:80` }], never)
  },
} satisfies Readonly<Record<string, Vandal>>

export type KernelDamage =
  | { readonly kind: 'rules'; readonly damage: RuleDamage }
  | { readonly kind: 'others'; readonly vandal: keyof typeof vandals; readonly which: number }

export const anyKernelDamage: fc.Arbitrary<KernelDamage> = fc.oneof(
  { weight: 1, arbitrary: anyRuleDamage({ leftovers: false }).map((damage) => ({ kind: 'rules', damage }) as const) },
  {
    weight: 3,
    arbitrary: fc
      .record({ vandal: fc.constantFrom(...(Object.keys(vandals) as (keyof typeof vandals)[])), which: fc.nat() })
      .map((choice) => ({ kind: 'others', ...choice }) as const),
  },
)

export async function doKernelDamage(kernel: MemoryKernel, damage: KernelDamage): Promise<void> {
  if (damage.kind === 'rules') await doRuleDamage(kernel.iptables, damage.damage)
  else await vandals[damage.vandal](kernel, damage.which)
}

const strangeIp = { ipv4: '203.0.113.9', ipv6: '2001:db8:9::9' }
const strangeServer = { port: 80, protocol: 'TCP', scheduler: 'wlc', flags: 0, timeoutSeconds: 0 } as const

function pick<T>(list: readonly T[], which: number): T | undefined {
  return list[which % list.length]
}
