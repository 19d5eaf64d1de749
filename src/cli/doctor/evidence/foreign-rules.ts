/** Everything that others have hung into the hooks of the kernel that our packets pass. */
import { readBaseChains, readTableJson } from '../../../dataplane/nft/command/base-chains.ts'
import type { BaseChain } from '../../../dataplane/nft/command/base-chains.ts'
import { NftError, tableName } from '../../../dataplane/nft/nft.ts'
import type { Variant } from '../../../dataplane/iptables/iptables.ts'
import type { Family } from '../../../net/ip.ts'
import type { Host } from '../../host/host.ts'
import { CannotLook } from '../evidence.ts'
import { parseIptablesRule } from '../rules/parse-iptables.ts'
import { parseNftTable } from '../rules/parse-nft.ts'
import { hooks } from '../rules/rule.ts'
import type { Hook, HookedChain } from '../rules/rule.ts'
import type { Setup } from '../setup.ts'
import { trustedChains } from './iptables.ts'
import type { IptablesTables, IsTrusted } from './iptables.ts'

export async function readForeignRules(
  { exec }: Pick<Host, 'exec'>,
  setup: Pick<Setup, 'config' | 'isBeforeStart'>,
  readIptables: () => Promise<{ readonly looks: readonly IptablesTables[] }>,
  signal: AbortSignal,
): Promise<readonly HookedChain[]> {
  const { looks } = await readIptables()
  const isTrusted = trustedChains(setup)
  return [...looks.flatMap((look) => hookedInIptables(look, isTrusted)), ...(await hookedInNft(exec, looks, signal))]
}

/** Tables of proxies: the one is ours, the other a finding of its own. */
const proxyTables = new Set([tableName, 'kube-proxy'])
const iptablesTables = new Set(['raw', 'mangle', 'nat', 'filter', 'security'])

const familiesOf: Readonly<Record<string, readonly Family[]>> = {
  ip: ['ipv4'],
  ip6: ['ipv6'],
  inet: ['ipv4', 'ipv6'],
}

async function hookedInNft(
  exec: Host['exec'],
  looks: readonly IptablesTables[],
  signal: AbortSignal,
): Promise<readonly HookedChain[]> {
  const chains = (await asked(() => readBaseChains(exec, signal))).filter(
    (base) =>
      base.family in familiesOf &&
      !proxyTables.has(base.table) &&
      !isReadWithIptables(base, looks) &&
      isHook(base.hook),
  )
  const found: HookedChain[] = []
  for (const table of new Set(chains.map(({ family, table }) => `${family} ${table}`))) {
    const [family = '', ...name] = table.split(' ')
    const place = { family, table: name.join(' ') }
    const rulesByChain = parseNftTable(await asked(() => readTableJson(exec, place, signal)))
    for (const base of chains.filter((one) => one.family === place.family && one.table === place.table))
      found.push({
        place: `nft table ${family} ${place.table}`,
        chain: base.chain,
        hook: base.hook as Hook,
        type: base.type,
        priority: base.priority,
        policy: base.policy,
        families: familiesOf[family] ?? [],
        rulesByChain,
      })
  }
  return found
}

function isHook(name: string): boolean {
  return hooks.some((hook) => hook === name)
}

/** iptables prints them as people know them; but it may not be there. */
function isReadWithIptables({ family, table, chain, hook }: BaseChain, looks: readonly IptablesTables[]): boolean {
  if (family === 'inet' || !iptablesTables.has(table) || chain !== hook.toUpperCase()) return false
  const [ip] = familiesOf[family] ?? []
  return looks.some((look) => look.variant === 'nf_tables' && look.family === ip && look.tool !== undefined)
}

async function asked<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof NftError)) throw error
    const fix =
      error.reason === 'no-tool'
        ? 'Install nft: without it the rules of other programs in nf_tables cannot be read.'
        : error.reason === 'not-permitted'
          ? 'Run as root, with CAP_NET_ADMIN.'
          : 'Look with "nft list ruleset": an nft that is older than what made the table may not be able to read it.'
    throw new CannotLook(error.message, fix, { cause: error })
  }
}

/** From linux/netfilter_ipv4.h. */
const priorities: Readonly<Record<string, number>> = { raw: -300, mangle: -150, nat: -100, filter: 0, security: 50 }

function hookedInIptables(
  { family, variant, tool, saved, policies }: IptablesTables,
  isTrusted: IsTrusted,
): readonly HookedChain[] {
  return [...saved.rules].flatMap(([table, rules]) => {
    const isOurs = (chain: string) => table === 'nat' && isDispatch(chain) && isTrusted(table, chain)
    const rulesByChain = new Map(
      [...rules].map(([chain, lines]) => [chain, lines.map((line) => parseIptablesRule(chain, line, isOurs))]),
    )
    return hooks.flatMap((hook): readonly HookedChain[] => {
      const chain = hook.toUpperCase()
      if (!rules.has(chain)) return []
      const policy = policies.get(`${table} ${chain}`)?.toLowerCase() ?? 'accept'
      return [
        {
          place: `${tool ?? nameOf(family, variant)} table ${table}`,
          chain,
          hook,
          type: table === 'nat' ? 'nat' : 'filter',
          priority: hook === 'postrouting' && table === 'nat' ? 100 : (priorities[table] ?? 0),
          policy,
          families: [family],
          rulesByChain,
        },
      ]
    })
  })
}

/** The chains in which a proxy takes over. The others of its chains only filter. */
function isDispatch(chain: string): boolean {
  return /^KUBE-(?:SERVICES|PORTALS-|NODEPORT)/.test(chain)
}

function nameOf(family: Family, variant: Variant): string {
  return `${family === 'ipv4' ? 'iptables' : 'ip6tables'}${variant === 'legacy' ? '-legacy' : '-nft'}`
}
