/** What the ipvs mode leaves, ours or kube-proxy's: chains, virtual servers, a dummy link, and IP sets. */
import { nothingFound, removalOf } from '../../core/leftover.ts'
import type { Findings, Removal } from '../../core/leftover.ts'
import type { FoundLink, Links } from '../../dataplane/addresses/addresses.ts'
import type { OwnChain } from '../../dataplane/iptables/cleanup/own-chain.ts'
import { sharedChains } from '../../dataplane/iptables/cleanup/shared-chains.ts'
import { IpsetError } from '../../dataplane/ipset/ipset.ts'
import type { Ipset, ListedSet } from '../../dataplane/ipset/ipset.ts'
import { IpvsError } from '../../dataplane/ipvs/ipvs.ts'
import type { Ipvs } from '../../dataplane/ipvs/ipvs.ts'
import type { ReadRealServerTable } from '../../dataplane/ipvs/real-server-table.ts'
import { families } from '../../net/ip.ts'
import { ipSets, setIds, setName } from './ip-sets.ts'
import { ipvsLink } from './ipvs-link.ts'
import { serversLeft } from './servers-left.ts'
import { ipvsChains } from './top-chains.ts'

const reason = 'of the ipvs mode'
const modes = ['ipvs'] as const
const accessFilter = ['kubernetes ipvs access filter']

export const ownChains: readonly OwnChain[] = [
  ...sharedChains,
  {
    name: ipvsChains.nodePort,
    tables: ['filter', 'nat'],
    reason,
    jumpComments: ['kubernetes health check rules'],
  },
  { name: ipvsChains.loadBalancer, tables: ['nat'], reason },
  // Until 1.25 the mode had one in nat. The kubelet's is in filter.
  { name: 'KUBE-FIREWALL', tables: ['nat'], reason },
  { name: ipvsChains.sourceRanges, tables: ['filter'], reason },
  { name: ipvsChains.access, tables: ['filter'], reason, jumpComments: accessFilter },
  { name: ipvsChains.out, tables: ['filter'], reason, jumpComments: accessFilter },
]

export interface IpvsDoors {
  readonly links: Links
  readonly ipset: Ipset
  /** May load a module. */
  readonly openIpvs: (signal: AbortSignal) => Promise<Ipvs>
  readonly readServerTable: ReadRealServerTable
  /** Rules of others, which stay. */
  readonly foreignRules: readonly string[]
}

/** A node that never had the mode has neither link nor sets, and is asked no further. */
export async function findLeftovers(doors: IpvsDoors, signal: AbortSignal): Promise<Findings> {
  const link = await doors.links.find(ipvsLink, signal)
  const sets = await findSets(doors.ipset, signal)
  if (link === undefined && sets.length === 0) return nothingFound
  const parts = [
    await findServers(doors, { link, sets }, signal),
    linkLeft(doors.links, link),
    ...sets.map((set) => setLeft(doors, set)),
  ]
  return { removals: parts.flatMap(({ removals }) => removals), problems: parts.flatMap(({ problems }) => problems) }
}

const typesByName: ReadonlyMap<string, string> = new Map(
  families.flatMap((family) => setIds.map((id) => [setName(id, family), ipSets[id].type])),
)

/** Name and type must fit: a set of the same name but another type is somebody else's. */
async function findSets(ipset: Ipset, signal: AbortSignal): Promise<readonly ListedSet[]> {
  try {
    const listed = await ipset.list([...typesByName.keys()], signal)
    return listed.filter(({ name, type }) => typesByName.get(name) === type)
  } catch (error) {
    // Where nobody can make a set, there is none.
    if (error instanceof IpsetError && (error.reason === 'tool-missing' || error.reason === 'module-missing')) return []
    throw error
  }
}

async function findServers(
  { openIpvs, readServerTable }: IpvsDoors,
  found: { readonly link: FoundLink | undefined; readonly sets: readonly ListedSet[] },
  signal: AbortSignal,
): Promise<Findings> {
  const ipvs = await openIpvs(signal)
  try {
    return { ...nothingFound, removals: serversLeft(ipvs, await ipvs.list(signal), found) }
  } catch (error) {
    if (!(error instanceof IpvsError)) throw error
    if (error.reason === 'module-missing') return nothingFound
    if (error.reason !== 'tool-missing') throw error
    const hasAny = ((await readServerTable(signal))?.size ?? 0) > 0
    return { ...nothingFound, problems: hasAny ? [missingIpvsadm] : [] }
  }
}

const missingIpvsadm = 'the kernel has IPVS virtual servers, but ipvsadm, which removes them, is missing: install it'

function linkLeft(links: Links, link: FoundLink | undefined): Findings {
  if (link === undefined) return nothingFound
  if (link.kind !== 'dummy') {
    const problem = `interface ${ipvsLink} stays: it is not a dummy link but of kind "${link.kind}", so no proxy created it`
    return { ...nothingFound, problems: [problem] }
  }
  const leftover = { what: `interface ${ipvsLink}`, reason: 'holds the addresses of Services in ipvs mode', modes }
  return { ...nothingFound, removals: [removalOf(leftover, (removing) => links.removeDummy(ipvsLink, removing))] }
}

/** A set that a rule of others asks must stay. */
function setLeft({ ipset, foreignRules }: IpvsDoors, { name }: ListedSet): Findings {
  const user = foreignRules.find((rule) => rule.includes(` ${name} `))
  if (user !== undefined)
    return { ...nothingFound, problems: [`ipset ${name} stays because a foreign rule uses it: "${user}"`] }
  const removal: Removal = removalOf({ what: `ipset ${name}`, reason, modes }, (removing) =>
    ipset.destroy(name, removing),
  )
  return { ...nothingFound, removals: [removal] }
}
