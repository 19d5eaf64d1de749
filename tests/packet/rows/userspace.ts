/**
 * The rows of the iptables mode as the userspace mode has them. With the native engine endpoints see over TCP whom they
 * would see there; the exceptions are named below. (Without it all see the node: `transparent.test.ts`.) Some rows come
 * out another way.
 */
import { remotePods } from '../testing/address-plan.ts'
import type { PodName } from '../testing/address-plan.ts'
import { at, dropped, isOnNode, reaches, refused, row, untouched } from '../testing/row.ts'
import type { Expectation, Row, Scenario } from '../testing/row.ts'
import { scenarios } from '../testing/scenarios.ts'
import type { ServiceFixture } from '../testing/service-fixture.ts'

export function userspaceScenarios(): readonly Scenario[] {
  const [plain, ...others] = scenarios.map(throughRelay)
  if (plain === undefined) return []
  return [{ ...plain, rows: [...plain.rows, ...ownRows(plain)] }, ...others].filter(({ rows }) => rows.length > 0)
}

function throughRelay(scenario: Scenario): Scenario {
  const rows = scenario.rows.filter(({ modes }) => modes.includes('iptables'))
  return { ...scenario, rows: rows.flatMap(withoutExceptions).flatMap((one) => asRelayed(one, scenario)) }
}

/** Node.js relays UDP. And where pods cannot be told, those of other nodes could not answer through this one to most. */
function asRelayed(one: Row, { settings }: Scenario): readonly Row[] {
  const overUdp = one.to.filter(({ port }) => port.protocol === 'UDP')
  const others = one.to.filter((target) => !overUdp.includes(target))
  const untold = settings.detectLocal === 'not at all' ? { ...one, expect: remotesSeeNode(one.expect) } : one
  const parts = [{ ...untold, to: others }, seenAsNode({ ...one, to: overUdp })]
  return parts.filter(({ to }) => to.length > 0)
}

function remotesSeeNode(expectation: Expectation): Expectation {
  if (expectation.kind !== 'reaches') return expectation
  const isRemote = (pod: PodName) => (remotePods as readonly PodName[]).includes(pod)
  return {
    kind: 'reaches',
    each: expectation.each.map(({ pod, seenAs }) => ({ pod, seenAs: isRemote(pod) ? 'node' : seenAs })),
  }
}

/** Leaves out what `ownRows` have instead. */
function withoutExceptions(one: Row): readonly Row[] {
  const { from, to, expect } = one
  if (one.number === 42) return []
  if (expect.kind === 'untouched' && to.every(isOnNode)) return untouchedNodePort(one)
  // What the node itself sends to an external IP that it does not hold goes there, and a VIP is no external IP.
  const isForeign = (door: string) => (expect.kind === 'untouched' ? door === 'VIP' : door === 'external IP')
  const split = [
    { ...one, from: from.filter((source) => source !== 'node') },
    { ...one, from: from.filter((source) => source === 'node'), to: to.filter(({ door }) => !isForeign(door)) },
  ]
  return split.filter((part) => part.from.length > 0 && part.to.length > 0)
}

/**
 * Where a node port is not open, nobody listens. Fairlead holds the port where it is open, so no test can; and localhost
 * is like the other addresses here.
 */
function untouchedNodePort(one: Row): readonly Row[] {
  if (one.to.every(({ service }) => service.type === 'ClusterIP')) return [one]
  if (one.to.some(({ door }) => door === 'node port on localhost')) return []
  return [{ ...one, expect: refused }]
}

function seenAsNode(one: Row): Row {
  if (one.expect.kind !== 'reaches') return one
  return { ...one, sentence: `${one.sentence} [seen as the node]`, expect: fromNode(one.expect) }
}

function fromNode(expectation: Expectation): Expectation {
  if (expectation.kind !== 'reaches') return expectation
  return { kind: 'reaches', each: expectation.each.map(({ pod }) => ({ pod, seenAs: 'node' })) }
}

function ownRows({ services }: Scenario): readonly Row[] {
  const named = (name: string): ServiceFixture => {
    const found = services.find((service) => service.name === name)
    if (found === undefined) throw new Error(`no Service "${name}" in the plain scenario`)
    return found
  }
  const [open, empty, spread, np] = [named('open'), named('open-empty'), named('spread'), named('np')]
  const elsewhere = named('elsewhere')
  const both = reaches(['here-1', 'there-1'], 'node')
  return [
    row(14, 'what the node sends to an external IP that it does not hold is not touched', {
      from: 'node',
      to: [open, empty, spread].map((service) => at('external IP', service)),
      expect: untouched,
    }),
    row(14, 'a VIP without endpoints refuses the node', { from: 'node', to: at('VIP', empty), expect: refused }),
    row(14, 'a VIP without endpoints drops those who may not use it', {
      from: ['blocked', 'caller'],
      to: at('VIP', empty),
      expect: dropped,
    }),
    row(73, 'a pod of another node comes from outside: without a local endpoint it is dropped', {
      from: 'there-2',
      to: [at('node port', elsewhere), at('VIP', elsewhere)],
      expect: dropped,
      needs: ['pod CIDRs of the Node'],
    }),
    row(69, 'a pod of another node comes from outside: it reaches the local endpoint, which sees it', {
      from: 'there-2',
      to: [at('node port', spread), at('VIP', spread)],
      expect: reaches(['here-1'], 'client'),
      needs: ['pod CIDRs of the Node'],
    }),
    row(14, 'a node port answers on localhost, also on ::1', {
      from: 'localhost',
      to: at('node port on localhost', np),
      expect: both,
    }),
  ]
}
