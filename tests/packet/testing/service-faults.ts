/** Whether a Service does what it should: the question of every test that breaks something. */
import { families } from '../../../src/net/ip.ts'
import { flowFaults } from './observe.ts'
import type { Rig } from './rig.ts'
import { at, reaches } from './row.ts'
import type { ServiceFixture } from './service-fixture.ts'

/** What the Service does not do as it should, inside and outside; nothing, hopefully. It needs a node port. */
export function serviceFaults(rig: Rig, service: ServiceFixture): Promise<readonly string[]> {
  const pods = service.endpoints.map((endpoint) => (typeof endpoint === 'string' ? endpoint : endpoint.pod))
  const seenAs = { caller: 'client', outside: 'node' } as const
  const flows = flowsTo(service).map((flow) => ({ ...flow, expectation: reaches(pods, seenAs[flow.from]) }))
  return flowFaults(rig, flows)
}

export function flowsTo(service: ServiceFixture) {
  return families.flatMap((family) => [
    { from: 'caller', to: at('cluster IP', service), family } as const,
    { from: 'outside', to: at('node port', service), family } as const,
  ])
}
