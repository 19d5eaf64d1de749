/** Compares what we wrote with what the kernel holds, and names the first thing that differs. */
import { canonicalRule } from '../../dataplane/iptables/canonical-rule.ts'
import type { ListedServer } from '../../dataplane/ipvs/ipvs.ts'
import { hostPort } from '../../net/ip.ts'
import { missingJumps } from '../../dataplane/iptables/language/kernel-state.ts'
import type { KernelState as RulesState } from '../../dataplane/iptables/language/kernel-state.ts'
import { renderRule } from '../../dataplane/iptables/language/render-rule.ts'
import { nextTurn } from '../../dataplane/next-turn.ts'
import type { Draining } from './draining.ts'
import { heldOf } from './held.ts'
import type { HeldServer, Texts, Written } from './held.ts'
import { setIds, setName } from './ip-sets.ts'
import { ipvsLink } from './ipvs-link.ts'
import type { Found } from './kernel.ts'
import { serverId } from './planned-server.ts'
import type { ServerId } from './planned-server.ts'
import { holdsChain } from './rules-edit.ts'
import { isSameServer } from './server-edit.ts'
import type { IpvsSettings } from './settings.ts'
import { ipvsChains, ipvsJumps } from './top-chains.ts'

/** What the kernel should hold. */
export interface Expected {
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

export function findRuleDrift({ written }: Expected, state: RulesState): string | undefined {
  const { chains, settings } = written.plan
  const { family } = settings
  const [jump] = missingJumps(state, family, ipvsJumps)
  if (jump !== undefined) return `the jump from ${jump.table}/${jump.from} is missing: ${renderRule(jump.rule)}`
  for (const placed of chains) {
    const { table, chain } = placed
    if (!state[table].has(chain.name)) return `chain ${table}/${chain.name} is missing`
    if (!holdsChain(state, placed, family)) return `chain ${table}/${chain.name} was changed`
  }
  const out = state.filter.get(ipvsChains.out)
  const wantedOut = Array.from(heldOf(written).outRules.keys(), (rule) => canonicalRule(rule, family))
  if (out === undefined) return `chain filter/${ipvsChains.out} is missing`
  return difference(new Set(wantedOut), out, `chain filter/${ipvsChains.out}`)
}

function changedAddress(expected: Expected, { linkIps, otherIps }: Found): string | undefined {
  const { written } = expected
  const { settings } = written.plan
  const { nodeIps, nodePortIps } = expected.nodeAddresses(otherIps)
  return (
    difference(settings.nodeIps, nodeIps, 'this node') ??
    difference(new Set(settings.nodePortIps), nodePortIps, 'the addresses for node ports') ??
    difference(heldOf(written).addresses, linkIps, `link ${ipvsLink}`)
  )
}

function changedSet({ written }: Expected, { sets }: Found): string | undefined {
  const held = heldOf(written)
  const entriesByName = new Map(sets.map(({ name, entries }) => [name, entries]))
  for (const id of setIds) {
    const name = setName(id, written.plan.settings.family)
    const entries = entriesByName.get(name)
    if (entries === undefined) return `set ${name} is missing`
    const problem = difference(held.entries(id), entries, `set ${name}`)
    if (problem !== undefined) return problem
  }
  return undefined
}

async function changedServer(expected: Expected, servers: readonly ListedServer[]): Promise<string | undefined> {
  const held = heldOf(expected.written)
  const foundIds = new Set<ServerId>()
  for (const server of servers) {
    const id = serverId(server)
    foundIds.add(id)
    if (foundIds.size % batchSize === 0) await nextTurn()
    const wanted = held.server(id)
    if (wanted === undefined) {
      if (!expected.isExcluded(server.ip)) return `virtual server ${id} belongs to no Service`
      continue
    }
    if (!isSameServer(server, wanted)) return `virtual server ${id} was changed`
    const problem = changedEndpoint(expected, id, wanted, server)
    if (problem !== undefined) return problem
  }
  for (const id of held.serverIds()) if (!foundIds.has(id)) return `virtual server ${id} is missing`
  return undefined
}

/** Weights are not compared: one that was set by hand stays. */
function changedEndpoint(
  { draining }: Expected,
  id: ServerId,
  wanted: HeldServer,
  { realServers }: ListedServer,
): string | undefined {
  const addresses = realServers.map(({ ip, port }) => hostPort(ip, port))
  return difference(
    new Set(wanted.endpoints.map(({ address }) => address)),
    addresses.filter((address) => !draining.has(id, address)),
    `virtual server ${id}`,
  )
}

function difference(wanted: Texts, found: Iterable<string>, where: string): string | undefined {
  const seen = new Set<string>()
  for (const text of found) {
    if (!wanted.has(text)) return `${where} has ${text}, which is not ours`
    seen.add(text)
  }
  for (const text of wanted.keys()) if (!seen.has(text)) return `${where} lacks ${text}`
  return undefined
}
