/** What the iptables mode leaves: chains, and the counters that its rules name. */
import { nothingFound, removalOf } from '../../core/leftover.ts'
import type { Findings, Removal } from '../../core/leftover.ts'
import type { OwnChain } from '../../dataplane/iptables/cleanup/own-chain.ts'
import { ofAllServices, servicePortals, sharedChains } from '../../dataplane/iptables/cleanup/shared-chains.ts'
import { counterNames } from '../../dataplane/iptables/language/counters.ts'
import { serviceChainPrefixes, topChains } from '../../dataplane/iptables/language/kube-chains.ts'
import { NfacctError } from '../../dataplane/nfacct/nfacct.ts'
import type { Nfacct } from '../../dataplane/nfacct/nfacct.ts'

export const ownChains: readonly OwnChain[] = [
  ...sharedChains,
  { name: topChains.services, tables: ['filter'], reason: ofAllServices, jumpComments: [servicePortals] },
  {
    name: topChains.externalServices,
    tables: ['filter'],
    reason: ofAllServices,
    jumpComments: ['kubernetes externally-visible service portals'],
  },
  {
    name: topChains.nodePorts,
    tables: ['filter', 'nat'],
    reason: ofAllServices,
    jumpComments: ['kubernetes health check service ports'],
  },
  {
    name: topChains.canary,
    tables: ['mangle', 'filter', 'nat'],
    reason: 'lets a proxy notice that the table was flushed',
  },
  {
    // KUBE-XLB- had its place until 1.24. The hash is part of the test: a prefix alone may be anybody's.
    name: new RegExp(`^(?:${[...serviceChainPrefixes, 'KUBE-XLB-'].join('|')})[A-Z2-7]{16}$`),
    tables: ['filter', 'nat'],
    reason: 'belongs to one Service port',
  },
]

export interface CounterDoors {
  readonly nfacct: Nfacct
  /** Rules of others, which stay. */
  readonly foreignRules: readonly string[]
}

/** A counter that somebody else's rule uses stays, and does no harm. */
export async function findLeftovers({ nfacct, foreignRules }: CounterDoors, signal: AbortSignal): Promise<Findings> {
  const removals: Removal[] = []
  for (const name of Object.values(counterNames)) {
    if (foreignRules.some((rule) => rule.includes(name)) || !(await hasCounter(nfacct, name, signal))) continue
    const reason = 'counts packets for the metrics of the iptables mode'
    const leftover = { what: `nfacct: counter ${name}`, reason, modes: ['iptables'] }
    removals.push(removalOf(leftover, (removing) => nfacct.remove(name, removing)))
  }
  return { ...nothingFound, removals }
}

async function hasCounter(nfacct: Nfacct, name: string, signal: AbortSignal): Promise<boolean> {
  try {
    return (await nfacct.read(name, signal)) !== undefined
  } catch (error) {
    if (error instanceof NfacctError && error.reason === 'unsupported') return false
    throw error
  }
}
