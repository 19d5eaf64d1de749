/** The jumps from the kernel's chains to those of the portals, and how to bring them into order. */
import { canonicalRule } from '../../../dataplane/iptables/canonical-rule.ts'
import type { Family } from '../../../net/ip.ts'
import type { KernelState } from '../../../dataplane/iptables/language/kernel-state.ts'
import { renderRule } from '../../../dataplane/iptables/language/render-rule.ts'
import type { RestoreInput } from '../../../dataplane/iptables/language/restore-input.ts'
import type { Match } from '../../../dataplane/iptables/language/rule.ts'
import { comment, jump } from '../../../dataplane/iptables/language/rule.ts'
import type { Table } from '../../../dataplane/iptables/language/kube-chains.ts'
import { portalChains } from './chains.ts'

/** All jumps of one chain of the kernel. */
interface JumpsFrom {
  readonly table: Table
  readonly from: string
  /** As they must follow each other; rules of others may stand between them. */
  readonly first: readonly string[]
  /** After all others: a node port is told by its number alone, so whoever knows the address too comes before. */
  readonly last: readonly string[]
}

const isNew: Match = { kind: 'connection-state', states: ['NEW'] }
const toFirewall = line(portalChains.firewall, isNew, comment('kubernetes load balancer firewall'))

const portalJumps: readonly JumpsFrom[] = [
  natJumps('PREROUTING', portalChains.portalsContainer, portalChains.nodePortContainer),
  natJumps('OUTPUT', portalChains.portalsHost, portalChains.nodePortHost),
  {
    table: 'filter',
    from: 'INPUT',
    // What is refused at a proxy port must be refused before a node port's rule accepts it.
    first: [
      toFirewall,
      line(portalChains.ports, isNew, comment('kubernetes service proxy ports')),
      line(portalChains.nodePortNonLocal, comment('Ensure that non-local NodePort traffic can flow')),
    ],
    last: [],
  },
  { table: 'filter', from: 'FORWARD', first: [toFirewall], last: [] },
  { table: 'filter', from: 'OUTPUT', first: [toFirewall], last: [] },
]

function natJumps(from: string, portals: string, nodePorts: string): JumpsFrom {
  const isLocal: Match = { kind: 'local-address', end: 'destination' }
  return {
    table: 'nat',
    from,
    first: [line(portals, comment('handle ClusterIPs; NOTE: this must be before the NodePort rules'))],
    last: [
      line(nodePorts, isLocal, comment('handle service NodePorts; NOTE: this must be the last rule in the chain')),
    ],
  }
}

function line(chain: string, ...matches: readonly Match[]): string {
  return renderRule({ matches, target: jump(chain) })
}

/** The first chain of the kernel whose jumps are missing or out of order; undefined when all is well. */
export function misplacedJumps(state: KernelState, family: Family): string | undefined {
  const wrong = portalJumps.find((jumps) => !isInOrder(jumps, state, family))
  return wrong === undefined ? undefined : `the jumps from ${wrong.table}/${wrong.from} are missing or out of order`
}

/** Jumps that are in order stay where they are: an operator may have put rules before and after them. */
export function writeJumps(state: KernelState, family: Family, input: RestoreInput): void {
  for (const jumps of portalJumps) {
    if (isInOrder(jumps, state, family)) continue
    const { table, from, first, last } = jumps
    for (const rule of [...first, ...last])
      for (const _ of places(rule, jumps, state, family)) input.delete(table, from, rule)
    for (const rule of [...first].reverse()) input.insertJump(table, from, rule)
    for (const rule of last) input.appendJump(table, from, rule)
  }
}

function isInOrder(jumps: JumpsFrom, state: KernelState, family: Family): boolean {
  let previous = -1
  for (const rule of [...jumps.first, ...jumps.last]) {
    const [place, ...more] = places(rule, jumps, state, family)
    if (place === undefined || more.length > 0 || place < previous) return false
    previous = place
  }
  return true
}

function places(rule: string, { table, from }: JumpsFrom, state: KernelState, family: Family): readonly number[] {
  const wanted = canonicalRule(rule, family)
  return (state[table].get(from) ?? []).flatMap((actual, index) => (actual === wanted ? [index] : []))
}
