/**
 * A plan as text for people and tools: the documents that HNS would be sent on an empty machine, one in a line. Only HNS
 * knows ids, so they are names here: `<endpoint 10.61.2.7>`.
 */
import type { RenderedPart } from '../../core/backend.ts'
import { VersionedMap } from '../../core/versioned-map.ts'
import { renderEndpoint, renderLoadBalancer } from '../../dataplane/hcn/documents.ts'
import type { HcnEndpoint } from '../../dataplane/hcn/hcn.ts'
import { rewriteAll } from './edit.ts'
import type { KernelspaceEdit } from './edit.ts'
import { endpointTable, withEndpoints } from './endpoint-table.ts'
import { nothingLeft } from './held.ts'
import { endpointSettings } from './new-endpoints.ts'
import type { KernelspacePlan } from './plan.ts'
import { readable } from './pieces.ts'
import { endpointIdsOf, settingsOf } from './resolve.ts'
import type { Surroundings } from './resolve.ts'
import { backendsOf, poolsOf } from './route-plan.ts'

export function renderPlan(plan: KernelspacePlan): readonly RenderedPart[] {
  const { settings } = plan
  const { network, table, newEndpoints, writes } = imagine(plan)
  return [
    {
      part: 'endpoints',
      text: lines(newEndpoints.map((it) => renderEndpoint(network.id, endpointSettings(it, settings, network)))),
    },
    {
      part: 'load-balancers',
      text: lines(writes.map(({ wanted }) => renderLoadBalancer(settingsOf(wanted, endpointIdsOf(wanted, table))))),
    },
  ]
}

/** An empty machine that has got all of it. */
export function imagine(plan: KernelspacePlan): Surroundings & Pick<KernelspaceEdit, 'newEndpoints' | 'writes'> {
  const { settings } = plan
  const network = {
    id: `<network ${settings.network.name}>`,
    findProvider: (ip: string) => `<node of ${ip}>`,
    subnets: '',
  }
  const table = endpointTable(podsHere(plan).map((ip) => endpointNamed(ip, false)))
  const nothing = { held: new VersionedMap<never, never>(), left: nothingLeft, failedKeys: new Set<never>() }
  const root = { ...endpointNamed(settings.rootEndpointName, false), ips: [] }
  const { newEndpoints, writes } = rewriteAll(
    { plan, network, table, root, ...nothing },
    plan.routesByKey.keys().toSorted(),
  )
  const added = newEndpoints.map(({ ip, purpose }) => endpointNamed(ip, purpose !== 'source-vip'))
  return { network, root, table: withEndpoints(table, { added, removed: [] }), newEndpoints, writes }
}

/** The CNI makes the endpoints of pods on this node. */
function podsHere({ routesByKey }: KernelspacePlan): readonly string[] {
  const ips = new Set<string>()
  for (const { balancers } of routesByKey.values())
    for (const pool of poolsOf(balancers)) for (const { ip, isLocal } of backendsOf(pool)) if (isLocal) ips.add(ip)
  return [...ips]
}

function endpointNamed(name: string, isRemote: boolean): HcnEndpoint {
  return { id: `<endpoint ${name}>`, name, networkId: '', ips: [name], mac: '', isRemote, providerAddress: undefined }
}

function lines(documents: readonly string[]): string {
  return documents.map((text) => `${readable(text)}\n`).join('')
}
