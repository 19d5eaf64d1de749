/** Every source against every door, for the three combinations of policies; with the settings that change it. */
import { proxyModes } from '../testing/proxy.ts'
import type { ProxyMode, ProxySettings } from '../testing/proxy.ts'
import { at, byRules, dropped, reaches, row } from '../testing/row.ts'
import type { Door, Row, Scenario, Source, Expectation } from '../testing/row.ts'
import { givenService } from '../testing/service-fixture.ts'

const endpoints = ['here-1', 'there-1'] as const
const services = {
  cluster: givenService('cluster', 80, { type: 'LoadBalancer', endpoints }),
  external: givenService('external', 81, { type: 'LoadBalancer', externalTrafficPolicy: 'Local', endpoints }),
  internal: givenService('internal', 82, { type: 'LoadBalancer', internalTrafficPolicy: 'Local', endpoints }),
}

const elsewhere = givenService('external-elsewhere', 83, {
  type: 'LoadBalancer',
  externalTrafficPolicy: 'Local',
  endpoints: ['there-1'],
})

export const matrixServices = Object.values(services)

type Policy = keyof typeof services
/** `*` marks masqueraded traffic, as in the specification. */
type Cell = 'all' | 'all *' | 'local' | 'local *'
type Line = readonly [number: number, from: Source, to: Door, cells: Readonly<Record<Policy, Cell>>]

const base: readonly Line[] = [
  [87, 'caller', 'cluster IP', { cluster: 'all', external: 'all', internal: 'local' }],
  [88, 'caller', 'node port', { cluster: 'all *', external: 'all', internal: 'all *' }],
  [89, 'caller', 'VIP', { cluster: 'all *', external: 'all', internal: 'all *' }],
  [90, 'node', 'cluster IP', { cluster: 'all *', external: 'all *', internal: 'local *' }],
  [91, 'node', 'node port', { cluster: 'all *', external: 'all *', internal: 'all *' }],
  [92, 'localhost', 'node port on localhost', { cluster: 'all *', external: 'all *', internal: 'all *' }],
  [93, 'node', 'VIP', { cluster: 'all *', external: 'all *', internal: 'all *' }],
  [94, 'outside', 'cluster IP', { cluster: 'all *', external: 'all *', internal: 'local *' }],
  [95, 'outside', 'node port', { cluster: 'all *', external: 'local', internal: 'all *' }],
  [96, 'outside', 'VIP', { cluster: 'all *', external: 'local', internal: 'all *' }],
]

/** What a setting, or a mode, changes in the lines above. */
type Changes = Readonly<Record<number, Partial<Record<Policy, Cell>>>>

/** One set of endpoints serves everybody who comes through a door. */
const inIpvs: Changes = {
  88: { external: 'local' },
  89: { external: 'local' },
  91: { external: 'local *' },
  93: { external: 'local *' },
}

const podsAreNotKnown: Changes = { 88: { external: 'local' }, 89: { external: 'local' } }
const unmasqueraded = { cluster: 'all', external: 'all', internal: 'local' } as const
const masqueraded = { cluster: 'all *', external: 'all *', internal: 'local *' } as const

const policyNames: Readonly<Record<Policy, string>> = {
  cluster: 'Cluster',
  external: 'external Local',
  internal: 'internal Local',
}

const cellNames: Readonly<Record<Cell, string>> = {
  all: 'every endpoint as itself',
  'all *': 'every endpoint masqueraded',
  local: 'the local endpoint as itself',
  'local *': 'the local endpoint masqueraded',
}

export const matrixRows = rowsWith({})

export const matrixScenarios: readonly Scenario[] = [
  matrixScenario('pods known by their interface', { detectLocal: 'interface prefix' }, {}),
  podsNotKnown(),
  matrixScenario('masquerade all', { masqueradeAll: true }, { 87: masqueraded }),
  matrixScenario(
    'masquerade all, pods not known',
    { masqueradeAll: true, detectLocal: 'not at all' },
    { ...podsAreNotKnown, 87: masqueraded },
  ),
]

function podsNotKnown(): Scenario {
  const changes = { ...podsAreNotKnown, 94: unmasqueraded }
  const { rows, ...scenario } = matrixScenario('pods not known', { detectLocal: 'not at all' }, changes)
  const fromPod = row(48, 'policy external Local without a local endpoint drops also what pods send', {
    from: ['caller', 'outside'],
    to: [at('VIP', elsewhere), at('node port', elsewhere)],
    expect: dropped,
    only: byRules,
  })
  return { ...scenario, services: [...matrixServices, elsewhere], rows: [...rows, fromPod] }
}

function matrixScenario(name: string, settings: ProxySettings, changes: Changes): Scenario {
  return { name, settings, services: matrixServices, rows: rowsWith(changes) }
}

function rowsWith(changes: Changes): readonly Row[] {
  return base.flatMap(([number, from, door, cells]) =>
    (Object.keys(services) as Policy[]).flatMap((policy) => {
      const cell = changes[number]?.[policy] ?? cells[policy]
      const cellInIpvs = inIpvs[number]?.[policy] ?? cell
      const flow = { number, from, door, policy }
      if (from === 'localhost') return [{ ...rowFor(flow, cell, 'iptables'), families: ['ipv4'] as const }]
      if (cell === cellInIpvs) return [rowFor(flow, cell, proxyModes)]
      return [rowFor(flow, cell, byRules), rowFor(flow, cellInIpvs, 'ipvs')]
    }),
  )
}

function rowFor(
  flow: { readonly number: number; readonly from: Source; readonly door: Door; readonly policy: Policy },
  cell: Cell,
  only: ProxyMode | readonly ProxyMode[],
): Row {
  const { number, from, door, policy } = flow
  return row(number, `policy ${policyNames[policy]}: ${from} to ${door} reaches ${cellNames[cell]}`, {
    from,
    to: at(door, services[policy]),
    expect: expectationOf(cell),
    only,
  })
}

function expectationOf(cell: Cell): Expectation {
  return reaches(cell.startsWith('all') ? endpoints : ['here-1'], cell.endsWith('*') ? 'node' : 'client')
}
