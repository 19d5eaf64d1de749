/** Asks the kernel, one by one, for what the nftables mode uses of it. Nothing is changed: nft only checks. */
import type { Family } from '../../../net/ip.ts'
import type { Exec } from '../../exec/exec.ts'
import type { NftError } from '../nft.ts'
import { nftFamily } from './script.ts'
import { startError, toolError } from './tool-error.ts'

export interface MissingNftFeature {
  readonly family: Family
  readonly feature: string
  /** The kernel modules that have it. */
  readonly modules: string
  /** In the words of nft. */
  readonly reason: string
}

interface Feature {
  readonly name: string
  readonly modules: (ip: 'ipv4' | 'ipv6') => string
  readonly hook: 'nat' | 'filter'
  /** Sets that the rule uses. */
  readonly sets?: (ip: 'ip' | 'ip6') => readonly string[]
  readonly rule: (ip: 'ip' | 'ip6') => string
}

const exampleAddress = { ip: '192.0.2.1', ip6: '2001:db8::1' } as const
const addressType = { ip: 'ipv4_addr', ip6: 'ipv6_addr' } as const
const atPort = { ip: '192.0.2.1:80', ip6: '[2001:db8::1]:80' } as const

const features: readonly Feature[] = [
  {
    name: 'translating destinations (dnat)',
    modules: () => 'nft_chain_nat, nft_nat, nf_nat',
    hook: 'nat',
    rule: (ip) => `meta l4proto tcp dnat to ${atPort[ip]}`,
  },
  { name: 'masquerading', modules: () => 'nft_masq', hook: 'nat', rule: () => 'masquerade fully-random' },
  { name: 'rejecting', modules: (ip) => `nft_reject_${ip}`, hook: 'filter', rule: () => 'reject' },
  { name: 'fib', modules: (ip) => `nft_fib_${ip}`, hook: 'filter', rule: () => 'fib saddr type local accept' },
  {
    name: 'connection tracking',
    modules: () => 'nft_ct, nf_conntrack',
    hook: 'filter',
    rule: () => 'ct state new accept',
  },
  {
    name: 'random numbers (numgen)',
    modules: () => 'nft_numgen',
    hook: 'filter',
    rule: () => 'numgen random mod 2 0 accept',
  },
  {
    name: 'ranges in sets with several fields',
    modules: () => 'nf_tables of Linux 5.6 or newer',
    hook: 'filter',
    sets: (ip) => [`s { type ${addressType[ip]} . inet_proto . inet_service . ${addressType[ip]} ; flags interval ; }`],
    rule: (ip) => `${ip} daddr . meta l4proto . th dport . ${ip} saddr @s accept`,
  },
  {
    name: 'sets that forget',
    modules: () => 'nft_set_hash, in nf_tables of most kernels',
    hook: 'filter',
    sets: (ip) => [`s { type ${addressType[ip]} ; flags dynamic,timeout ; timeout 60s ; }`],
    rule: (ip) => `update @s { ${ip} saddr }`,
  },
  {
    name: 'counters',
    modules: () => 'nft_counter',
    hook: 'filter',
    rule: (ip) => `${ip} daddr ${exampleAddress[ip]} counter accept`,
  },
]

/** Rejects with an NftError where nft cannot be asked at all. */
export async function missingNftFeatures(
  exec: Exec,
  family: Family,
  signal: AbortSignal,
): Promise<readonly MissingNftFeature[]> {
  // Nearly always all of it is there: then one look is enough.
  if ((await check(exec, family, features, signal)) === undefined) return []
  const missing: MissingNftFeature[] = []
  for (const feature of features) {
    const error = await check(exec, family, [feature], signal)
    if (error === undefined) continue
    missing.push({ family, feature: feature.name, modules: feature.modules(family), reason: error.message })
  }
  return missing
}

async function check(
  exec: Exec,
  family: Family,
  wanted: readonly Feature[],
  signal: AbortSignal,
): Promise<NftError | undefined> {
  const script = wanted.map((feature, index) => scriptFor(feature, index, family)).join('')
  const doing = 'check what the kernel can do'
  const result = await exec('nft', ['--check', '-f', '-'], { signal, stdin: script, env: { LC_ALL: 'C' } }).catch(
    (error: unknown) => {
      throw startError(doing, error)
    },
  )
  if (result.exitCode === 0) return undefined
  const error = toolError(doing, result, script)
  if (error.reason === 'not-permitted' || error.reason === 'no-kernel-support') throw error
  return error
}

/** Each has a table of its own, so that the names in it do not collide. */
function scriptFor({ hook, sets, rule }: Feature, index: number, family: Family): string {
  const ip = nftFamily(family)
  const table = `${ip} fairlead-probe-${index}`
  const base = hook === 'nat' ? 'type nat hook postrouting priority 100' : 'type filter hook input priority 0'
  // What translates destinations may be called from prerouting only, and masquerading from postrouting only.
  const chain = hook === 'nat' && rule(ip).includes('dnat') ? 'type nat hook prerouting priority -100' : base
  return [
    `add table ${table}`,
    ...(sets?.(ip) ?? []).map((set) => `add set ${table} ${set}`),
    `add chain ${table} c { ${chain} ; }`,
    `add rule ${table} c ${rule(ip)}`,
    '',
  ].join('\n')
}
