/** From objects in files to what a mode would program for them on one node. */
import { objectKey } from '../api/records.ts'
import { isGateOn } from '../config/feature-gates.ts'
import type { ProxyConfig } from '../config/proxy-config.ts'
import type { NodeView } from '../core/backend.ts'
import { Catalog } from '../core/catalog.ts'
import type { Logger } from '../core/logger.ts'
import { nodeIps, type NodeIps } from '../core/node/node-ips.ts'
import { expandPrimary } from '../core/node/node-port-addresses.ts'
import { silentMetrics } from '../core/proxy-metrics.ts'
import { RouteTable } from '../core/routing/route-table.ts'
import { usualPolicy } from '../core/routing/serving-policy.ts'
import { ToldNotices } from '../core/routing/told-notices.ts'
import type { Family } from '../net/ip.ts'
import { FileSource } from '../sources/file/file-source.ts'
import { Intake } from '../sources/intake.ts'
import type { Host } from './host/host.ts'
import type { Mode, RenderSettings } from './modes/mode.ts'
import { CommandError } from './program.ts'

export interface RenderRequest {
  readonly mode: Mode
  readonly config: ProxyConfig
  readonly objects: readonly string[]
  readonly nodeName: string
  /** Instead of those of the Node object; empty: use those. */
  readonly nodeAddresses: readonly string[]
  readonly strictSourceRanges: boolean
  readonly families: readonly Family[]
  /** Empty: all parts. */
  readonly part: string
  readonly hnsNetworkType: RenderSettings['hnsNetworkType']
}

export interface RenderTools {
  readonly host: Pick<Host, 'clock'>
  readonly log: Logger
  /** Told before each family. */
  readonly onFamily: (family: Family) => void
}

export interface Section {
  readonly title: string
  readonly text: string
  /** Commands to run before the text can be loaded. */
  readonly needs: readonly string[]
}

export async function renderObjects(request: RenderRequest, tools: RenderTools): Promise<readonly Section[]> {
  const catalog = await readObjects(request.objects, tools)
  const node = describeNode(request, catalog)
  const notices = new ToldNotices({ log: tools.log, metrics: silentMetrics, onNotice() {} })
  return request.families.flatMap((family) => {
    tools.onFamily(family)
    return sectionsOf(viewOf(family, request, node, catalog, notices), request, settingsFor(request, node))
  })
}

async function readObjects(paths: readonly string[], { host: { clock }, log }: RenderTools): Promise<Catalog> {
  const catalog = new Catalog()
  const intake = new Intake({ catalog, log, metrics: silentMetrics })
  const [problem] = await new FileSource({ paths, intake, log, clock }).load()
  if (problem !== undefined) throw new CommandError(problem)
  return catalog
}

interface NodeDescription {
  readonly addresses: readonly string[]
  readonly podCIDRs: readonly string[]
  readonly ips: NodeIps['ips']
}

function describeNode({ config, nodeName, nodeAddresses }: RenderRequest, catalog: Catalog): NodeDescription {
  const record = catalog.nodes.get(objectKey({ name: nodeName }))
  const addresses = nodeAddresses.length > 0 ? nodeAddresses : (record?.ips ?? [])
  const { ips } = nodeIps({ ips: addresses, bindAddress: config.bindAddress })
  return { addresses, podCIDRs: record?.podCIDRs ?? [], ips }
}

function settingsFor(
  { config, hnsNetworkType }: RenderRequest,
  { addresses, podCIDRs, ips }: NodeDescription,
): RenderSettings {
  return {
    config,
    hnsNetworkType,
    nodePortAddresses: expandPrimary(config.nodePortAddresses, ips),
    podCIDRs,
    localIps: () => ['127.0.0.1', '::1', ...addresses],
  }
}

function viewOf(
  family: Family,
  { mode, config, nodeName, strictSourceRanges }: RenderRequest,
  { ips }: NodeDescription,
  catalog: Catalog,
  notices: ToldNotices,
): NodeView {
  const allowExternalIPs = isGateOn(config.featureGates, 'AllowServiceExternalIPs')
  const table = new RouteTable({
    catalog,
    family,
    nodeName,
    nodeIP: ips[family],
    policy: { ...usualPolicy, allowExternalIPs, strictSourceRanges, endpointRules: mode.endpointRules },
    notices,
    metrics: silentMetrics,
    startedAtMs: 0,
  })
  return table.take({ full: true }).view
}

function sectionsOf(
  view: NodeView,
  { mode, part: wanted }: RenderRequest,
  settings: RenderSettings,
): readonly Section[] {
  const parts = mode.render(view, settings)
  const chosen = parts.filter(({ part }) => wanted === '' || part === wanted)
  // A mode may have nothing for a family.
  if (chosen.length === 0 && parts.length > 0) {
    const known = parts.map(({ part }) => part).join(', ')
    throw new CommandError(`mode ${mode.name} has no part "${wanted}": choose --part from ${known}`)
  }
  return chosen.map(({ part, text, needs = [] }) => ({ title: `${view.family}, part ${part}`, text, needs }))
}
