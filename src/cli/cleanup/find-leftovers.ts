/** Looks for what proxies of any mode left in the kernel. Only reads. */
import type { PlacedRule } from '../../dataplane/iptables/cleanup/cleanup-plan.ts'
import { counterNames } from '../../dataplane/iptables/language/counters.ts'
import { NfacctError } from '../../dataplane/nfacct/nfacct.ts'
import { families } from '../../net/ip.ts'
import type { CleanupHost } from './cleanup-host.ts'
import { iptablesLeftovers } from './iptables-leftovers.ts'
import type { Findings, Leftover } from './leftover.ts'
import { lookIntoIptables, missingLegacyProblem } from './look-into-iptables.ts'
import { lookIntoIpvs } from './look-into-ipvs.ts'
import { lookIntoNft } from './look-into-nft.ts'

export async function findLeftovers(host: CleanupHost, signal: AbortSignal): Promise<Findings> {
  const looks = await lookIntoIptables(host, signal)
  const foreignRules = looks.flatMap(({ cleanup }) => cleanup.staying.map(ruleLine))
  const parts: Findings[] = [
    ...looks.map(({ tool = '', cleanup }) => iptablesLeftovers(tool, cleanup)),
    {
      leftovers: [],
      problems: (await Promise.all(looks.map((look) => missingLegacyProblem(look, host)))).filter(isText),
    },
    // All that follows is used by rules, so it can go only after them.
    await lookIntoNft(host, looks, signal),
    await lookIntoIpvs(host, foreignRules, signal),
    { leftovers: await lookForCounters(host, foreignRules, signal), problems: [] },
    { leftovers: await lookForRoutingRules(host, signal), problems: [] },
  ]
  return {
    leftovers: parts.flatMap(({ leftovers }) => leftovers),
    problems: parts.flatMap(({ problems }) => problems),
  }
}

function ruleLine({ chain, rule }: PlacedRule): string {
  return `-A ${chain} ${rule}`
}

function isText(text: string | undefined): text is string {
  return text !== undefined
}

async function lookForRoutingRules({ delivery }: CleanupHost, signal: AbortSignal): Promise<readonly Leftover[]> {
  const { mark, table } = delivery.numbers
  const found: Leftover[] = []
  for (const family of families)
    if (await delivery.isThere(family, signal))
      found.push({
        kind: 'routing-rule',
        family,
        mark,
        table,
        reason: 'returns answers of pods to the userspace mode',
      })
  return found
}

/** A counter that somebody else's rule uses stays, and does no harm. */
async function lookForCounters(
  { nfacct }: CleanupHost,
  foreignRules: readonly string[],
  signal: AbortSignal,
): Promise<readonly Leftover[]> {
  const found: Leftover[] = []
  for (const name of Object.values(counterNames)) {
    if (foreignRules.some((rule) => rule.includes(name)) || !(await hasCounter(name))) continue
    found.push({ kind: 'counter', name, reason: 'counts packets for the metrics of the iptables mode' })
  }
  return found

  async function hasCounter(name: string): Promise<boolean> {
    try {
      return (await nfacct.read(name, signal)) !== undefined
    } catch (error) {
      if (error instanceof NfacctError && error.reason === 'unsupported') return false
      throw error
    }
  }
}
