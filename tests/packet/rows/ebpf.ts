/**
 * The rows of the nftables mode as the ebpf mode has them: whoever has a socket on this node is connected to the endpoint
 * itself, so nothing is masqueraded, and nobody has to tell pods from others. What hooks leave alone is as it was.
 */
import { parseCidr } from '../../../src/net/ip.ts'
import type { Family } from '../../../src/net/ip.ts'
import { localPods } from '../testing/address-plan.ts'
import { reaches } from '../testing/row.ts'
import type { Expectation, Row, Scenario, Source, Target } from '../testing/row.ts'
import { scenariosOf } from '../testing/scenarios.ts'
import type { ServiceFixture } from '../testing/service-fixture.ts'

export function ebpfScenarios(): readonly Scenario[] {
  return scenariosOf('nftables').map((scenario) => ({
    ...scenario,
    rows: scenario.rows.flatMap((one) => atSockets(one, scenario)),
  }))
}

/** One row for each flow: flows of a row may come out in different ways. */
function atSockets(one: Row, scenario: Scenario): readonly Row[] {
  return one.from.flatMap((from) =>
    one.to.flatMap((to) =>
      one.families.map((family) => {
        const expect = isLeft(from, to, family) ? one.expect : expectationOf(one.expect, from, to, scenario)
        return { ...one, from: [from], to: [to], families: [family], expect }
      }),
    ),
  )
}

function expectationOf(usual: Expectation, from: Source, to: Target, { settings }: Scenario): Expectation {
  if (from === 'localhost')
    return to.door === 'node port on localhost' && settings.localhostNodePorts !== false
      ? reaches(podsOf(to.service), 'node')
      : usual
  const isPod = (localPods as readonly string[]).includes(from)
  if (from === 'vip') return usual.kind === 'reaches' ? seenAsClient(usual) : usual
  if (!isPod) return usual
  const isOutsideDoor = to.door !== 'cluster IP' && to.door !== 'unallocated cluster IP'
  const isShortCut =
    settings.detectLocal === 'not at all' && isOutsideDoor && to.service.externalTrafficPolicy === 'Local'
  if (isShortCut && (usual.kind === 'reaches' || usual.kind === 'dropped')) return reaches(podsOf(to.service), 'client')
  return usual.kind === 'reaches' ? seenAsClient(usual) : usual
}

/** Source ranges are asked of packets, unless everybody is in them; clients are remembered by them; and only TCP and UDP have hooks. */
function isLeft(from: Source, { service, door, port }: Target, family: Family): boolean {
  const ranges = service.sourceRanges.filter((range) => parseCidr(range)?.family === family)
  const restricts = ranges.length > 0 && !ranges.some((range) => range.endsWith('/0'))
  return (
    (restricts && (door === 'VIP' || door === 'second VIP')) ||
    (service.affinitySeconds > 0 && from !== 'localhost') ||
    (port.protocol !== 'TCP' && port.protocol !== 'UDP')
  )
}

function seenAsClient({ each }: Expectation & { kind: 'reaches' }): Expectation {
  return { kind: 'reaches', each: each.map(({ pod }) => ({ pod, seenAs: 'client' })) }
}

function podsOf({ endpoints }: ServiceFixture) {
  return endpoints.map((endpoint) => (typeof endpoint === 'string' ? endpoint : endpoint.pod))
}
