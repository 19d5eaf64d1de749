/**
 * The public library: the brain without the daemon, for programs that want to know which endpoints a Service address
 * reaches on a node, or that bring their own backend. Every name is listed by hand, so that new API shows in a diff.
 */
export { parseObject } from './api/parse.ts'
export type {
  NamespaceRecord,
  NodeRecord,
  ObjectKey,
  ObjectKind,
  ObjectRecord,
  Parsed,
  Problem,
  Protocol,
  RecordOf,
  ServiceCidrRecord,
  ServiceRecord,
  SliceRecord,
  TrafficPolicy,
} from './api/records.ts'
export { objectKey } from './api/records.ts'

export type { Backend, Change, NodeFacts, NodeView, RenderedPart, SyncReport } from './core/backend.ts'
export type { CatalogEvent, CatalogListener } from './core/catalog.ts'
export { Catalog } from './core/catalog.ts'
export type { Clock } from './core/clock.ts'
export { systemClock } from './core/clock.ts'
export type { LogFields, Logger } from './core/logger.ts'
export { silentLogger } from './core/logger.ts'
export type {
  AddressEntrance,
  AllowedSources,
  Entrance,
  NodePortEntrance,
  NonEmpty,
  Outcome,
  Treatment,
} from './core/route.ts'
export type { ProxyMetrics } from './core/proxy-metrics.ts'
export { silentMetrics } from './core/proxy-metrics.ts'
export type { PendingSync, RouteSource, SyncRequest } from './core/sync/route-source.ts'
export type { RouteTableOptions } from './core/routing/route-table.ts'
export { RouteTable } from './core/routing/route-table.ts'
export type { Endpoint, Route, RouteKey, TopologyMode } from './core/route.ts'
export { routeKey, routeName } from './core/route.ts'
export type { RouterContext } from './core/routing/router.ts'
export { routesOf } from './core/routing/router.ts'
export type { AfterSync, SyncRunnerOptions } from './core/sync/sync-runner.ts'
export type { SyncPeriods } from './core/sync/sync-loop.ts'
export { SyncRunner } from './core/sync/sync-runner.ts'

export type { ApiServer, ApiServerOptions } from './embedded/api-server.ts'
export { startApiServer } from './embedded/api-server.ts'
export { writeKubeconfig } from './embedded/kubeconfig-file.ts'
export { allResources } from './embedded/resources/all-resources.ts'

export type { ConsoleLoggerOptions } from './kpng/sdk/console-logger.ts'
export { consoleLogger } from './kpng/sdk/console-logger.ts'
export type { BackendContext, KpngBackend, NodeUpdate } from './kpng/sdk/define-backend.ts'
export { defineBackend } from './kpng/sdk/define-backend.ts'
export type { EndpointChange, NodeChanges } from './kpng/sdk/node-changes.ts'
export type { NodeEndpoint, NodeService, NodeServicePort, ServiceId } from './kpng/sdk/node-service.ts'
export type { RunBackendOptions } from './kpng/sdk/run-backend.ts'
export { runBackend } from './kpng/sdk/run-backend.ts'
export type { AddressKind, ServiceEvent } from './kpng/sdk/service-events.ts'

export type { Cidr, Family } from './net/ip.ts'

export type { FileSourceOptions } from './sources/file/file-source.ts'
export { FileSource } from './sources/file/file-source.ts'
export type { IntakeOptions } from './sources/intake.ts'
export { Intake } from './sources/intake.ts'
