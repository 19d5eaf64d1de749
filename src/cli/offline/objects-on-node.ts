/** Objects in files, as one node in one mode would see them: without root and without a cluster. */
import { objectKey } from '../../api/records.ts'
import type { ProxyConfig } from '../../config/proxy-config.ts'
import { Catalog } from '../../core/catalog.ts'
import type { Logger } from '../../core/logger.ts'
import { nodeIps } from '../../core/node/node-ips.ts'
import type { NodeIps } from '../../core/node/node-ips.ts'
import { expandPrimary } from '../../core/node/node-port-addresses.ts'
import { silentMetrics } from '../../core/proxy-metrics.ts'
import { RouteTable } from '../../core/routing/route-table.ts'
import type { NoticeSink } from '../../core/routing/service-notices.ts'
import { usualPolicy } from '../../core/routing/serving-policy.ts'
import { ToldNotices } from '../../core/routing/told-notices.ts'
import type { Family } from '../../net/ip.ts'
import { FileSource } from '../../sources/file/file-source.ts'
import { Intake } from '../../sources/intake.ts'
import { configuredPolicy } from '../configured-policy.ts'
import type { Host } from '../host/host.ts'
import type { Mode, RenderSettings } from '../modes/mode.ts'
import { CommandError } from '../program.ts'

/** Which node, and how it is configured. */
export interface NodeRequest {
  readonly mode: Mode
  readonly config: ProxyConfig
  readonly nodeName: string
  /** Instead of those of the Node object; empty: use those. */
  readonly nodeAddresses: readonly string[]
  readonly hnsNetworkType: RenderSettings['hnsNetworkType']
  readonly ebpf: RenderSettings['ebpf']
}

export interface ObjectsOnNode {
  readonly catalog: Catalog
  readonly settings: RenderSettings
  /** Programmed already, as far as it is concerned. */
  routes(family: Family): RouteTable
}

export interface OfflineTools {
  readonly host: Pick<Host, 'clock'>
  readonly log: Logger
}

export async function readObjectsOnNode(
  paths: readonly string[],
  request: NodeRequest,
  { host: { clock }, log }: OfflineTools,
): Promise<ObjectsOnNode> {
  const catalog = new Catalog()
  const intake = new Intake({ catalog, log, metrics: silentMetrics })
  const [problem] = await new FileSource({ paths, intake, log, clock }).load()
  if (problem !== undefined) throw new CommandError(problem)
  return objectsOnNode(catalog, request, new ToldNotices({ log, metrics: silentMetrics, onNotice() {} }))
}

export function objectsOnNode(catalog: Catalog, request: NodeRequest, notices: NoticeSink): ObjectsOnNode {
  const node = describeNode(request, catalog)
  return {
    catalog,
    settings: settingsFor(request, node),
    routes(family) {
      const table = routeTable(family, request, node, catalog, notices)
      table.take({ full: true })
      return table
    },
  }
}

interface NodeDescription {
  readonly addresses: readonly string[]
  readonly podCIDRs: readonly string[]
  readonly ips: NodeIps['ips']
}

function describeNode({ config, nodeName, nodeAddresses }: NodeRequest, catalog: Catalog): NodeDescription {
  const record = catalog.nodes.get(objectKey({ name: nodeName }))
  const addresses = nodeAddresses.length > 0 ? nodeAddresses : (record?.ips ?? [])
  const { ips } = nodeIps({ ips: addresses, bindAddress: config.bindAddress })
  return { addresses, podCIDRs: record?.podCIDRs ?? [], ips }
}

function settingsFor(
  { config, hnsNetworkType, ebpf }: NodeRequest,
  { addresses, podCIDRs, ips }: NodeDescription,
): RenderSettings {
  return {
    config,
    hnsNetworkType,
    ebpf,
    nodePortAddresses: expandPrimary(config.nodePortAddresses, ips),
    podCIDRs,
    localIps: () => ['127.0.0.1', '::1', ...addresses],
  }
}

function routeTable(
  family: Family,
  { mode, config, nodeName }: NodeRequest,
  { ips }: NodeDescription,
  catalog: Catalog,
  notices: NoticeSink,
): RouteTable {
  return new RouteTable({
    catalog,
    family,
    nodeName,
    nodeIP: ips[family],
    policy: {
      ...usualPolicy,
      ...configuredPolicy(config, mode.abilities),
      endpointRules: mode.endpointRules,
    },
    notices,
    metrics: silentMetrics,
    startedAtMs: 0,
  })
}
