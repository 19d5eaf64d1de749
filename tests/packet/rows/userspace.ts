/**
 * The rows of the iptables mode as the userspace mode has them. The relay is the client of every endpoint, so all of them
 * see the node; and some rows come out another way.
 */
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
  return { ...scenario, rows: rows.flatMap(withoutExceptions).map(seenAsNode) }
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
    row(14, 'a node port answers on localhost, also on ::1', {
      from: 'localhost',
      to: at('node port on localhost', np),
      expect: both,
    }),
  ]
}
