/** Compares what we wrote with what the kernel holds, and names the first thing that differs. */
import { canonicalRule } from '../../dataplane/iptables/canonical-rule.ts'
import type { ListedServer } from '../../dataplane/ipvs/ipvs.ts'
import { hostPort } from '../../net/ip.ts'
import { missingJumps } from '../../dataplane/iptables/language/kernel-state.ts'
import type { KernelState as RulesState } from '../../dataplane/iptables/language/kernel-state.ts'
import { renderRule } from '../../dataplane/iptables/language/render-rule.ts'
import { rulesOf } from '../../dataplane/iptables/language/rendered-chain.ts'
import type { Draining } from './draining.ts'
import { setIds, setName } from './ip-sets.ts'
import { ipvsLink } from './ipvs-link.ts'
import type { Found } from './kernel.ts'
import { serverId } from './planned-server.ts'
import type { ServerId } from './planned-server.ts'
import { isSameServer } from './server-edits.ts'
import type { IpvsSettings } from './settings.ts'
import { ipvsChains, ipvsJumps } from './top-chains.ts'
import type { Written, WrittenServer } from './written.ts'

/** What the kernel should hold. */
export interface Expected {
  readonly settings: IpvsSettings
  readonly written: Written
  readonly draining: Pick<Draining, 'has'>
  isExcluded(ip: string): boolean
  /** Of the node, worked out from what other links hold now. */
  nodeAddresses(otherIps: readonly string[]): Pick<IpvsSettings, 'nodeIps' | 'nodePortIps'>
}

/** Servers compared before others get a turn on the event loop. */
const batchSize = 500

export async function findDrift(expected: Expected, found: Found): Promise<string | undefined> {
  return (
    changedAddress(expected, found) ?? changedSet(expected, found) ?? (await changedServer(expected, found.servers))
  )
}

export function findRuleDrift({ written, settings }: Expected, state: RulesState): string | undefined {
  const { family } = settings
  const [jump] = missingJumps(state, family, ipvsJumps)
  if (jump !== undefined) return `the jump from ${jump.table}/${jump.from} is missing: ${renderRule(jump.rule)}`
  for (const { table, chain } of written.chains) {
    const rules = state[table].get(chain.name)
    if (rules === undefined) return `chain ${table}/${chain.name} is missing`
    const wanted = rulesOf(chain).map((rule) => canonicalRule(rule, family))
    if (wanted.length !== rules.length || wanted.some((rule, index) => rule !== rules[index]))
      return `chain ${table}/${chain.name} was changed`
  }
  const out = state.filter.get(ipvsChains.out)
  const wantedOut = Array.from(written.outRules, (rule) => canonicalRule(rule, family))
  if (out === undefined) return `chain filter/${ipvsChains.out} is missing`
  return difference(new Set(wantedOut), out, `chain filter/${ipvsChains.out}`)
}

function changedAddress(expected: Expected, { linkIps, otherIps }: Found): string | undefined {
  const { settings, written } = expected
  const { nodeIps, nodePortIps } = expected.nodeAddresses(otherIps)
  return (
    difference(settings.nodeIps, nodeIps, 'this node') ??
    difference(new Set(settings.nodePortIps), nodePortIps, 'the addresses for node ports') ??
    difference(written.addresses, linkIps, `link ${ipvsLink}`)
  )
}

function changedSet({ settings, written }: Expected, { sets }: Found): string | undefined {
  const entriesByName = new Map(sets.map(({ name, entries }) => [name, entries]))
  for (const id of setIds) {
    const name = setName(id, settings.family)
    const entries = entriesByName.get(name)
    if (entries === undefined) return `set ${name} is missing`
    const problem = difference(written.entries(id), entries, `set ${name}`)
    if (problem !== undefined) return problem
  }
  return undefined
}

async function changedServer(expected: Expected, servers: readonly ListedServer[]): Promise<string | undefined> {
  const { serversById } = expected.written
  const foundIds = new Set<ServerId>()
  for (const server of servers) {
    const id = serverId(server)
    foundIds.add(id)
    if (foundIds.size % batchSize === 0) await nextTurn()
    const wanted = serversById.get(id)
    if (wanted === undefined) {
      if (!expected.isExcluded(server.ip)) return `virtual server ${id} belongs to no Service`
      continue
    }
    if (!isSameServer(server, wanted)) return `virtual server ${id} was changed`
    const problem = changedEndpoint(expected, id, wanted, server)
    if (problem !== undefined) return problem
  }
  for (const id of serversById.keys()) if (!foundIds.has(id)) return `virtual server ${id} is missing`
  return undefined
}

/** Weights are not compared: one that was set by hand stays. */
function changedEndpoint(
  { draining }: Expected,
  id: ServerId,
  wanted: WrittenServer,
  { realServers }: ListedServer,
): string | undefined {
  const addresses = realServers.map(({ ip, port }) => hostPort(ip, port))
  return difference(
    new Set(wanted.endpoints.map(({ address }) => address)),
    addresses.filter((address) => !draining.has(id, address)),
    `virtual server ${id}`,
  )
}

function difference(wanted: ReadonlySet<string>, found: Iterable<string>, where: string): string | undefined {
  let known = 0
  const seen = new Set<string>()
  for (const text of found) {
    if (!wanted.has(text)) return `${where} has ${text}, which is not ours`
    if (!seen.has(text)) known++
    seen.add(text)
  }
  if (known === wanted.size) return undefined
  for (const text of wanted) if (!seen.has(text)) return `${where} lacks ${text}`
  return undefined
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
