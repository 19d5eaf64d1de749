/** Everything the daemon counts, in one registry. */
import { isGateOn } from '../../config/feature-gates.ts'
import { knownGates } from '../../config/known-feature-gates.ts'
import { kubernetesVersion } from '../../config/kubernetes-version.ts'
import type { RunningConfig } from '../../config/live/running-config.ts'
import { addBuildInfo, addFeatureStates } from '../../observe/metrics/kubernetes-metrics.ts'
import { MetricRegistry } from '../../observe/metrics/prometheus.ts'
import { ProxyMetricFamilies } from '../../observe/metrics/proxy-metric-families.ts'
import { PrometheusProxyMetrics } from '../../observe/metrics/proxy-metrics.ts'
import { RestClientMetrics } from '../../observe/metrics/rest-client-metrics.ts'
import { SourceMetrics } from '../../observe/metrics/source-metrics.ts'
import type { Host } from '../host/host.ts'

export interface DaemonMetrics {
  readonly registry: MetricRegistry
  /** For the mode's own series. */
  readonly families: ProxyMetricFamilies
  readonly proxy: PrometheusProxyMetrics
  readonly source: SourceMetrics
  readonly requests: RestClientMetrics
}

export function daemonMetrics(
  running: Pick<RunningConfig, 'config'>,
  host: Pick<Host, 'platform' | 'process'>,
): DaemonMetrics {
  const registry = new MetricRegistry()
  registry.addProcessMetrics()
  const { major, minor, patch } = kubernetesVersion
  const build = {
    major: String(major),
    minor: String(minor),
    gitVersion: `v${major}.${minor}.${patch}`,
    gitCommit: '',
    gitTreeState: '',
    buildDate: '',
    platform: `${host.platform}/${host.process.architecture}`,
  }
  addBuildInfo(registry, build, host.process.nodeVersion)
  addFeatureStates(registry, () =>
    [...knownGates].map(([name, { stage }]) => ({
      name,
      stage: stage === 'stable' ? '' : stage.toUpperCase(),
      isEnabled: isGateOn(running.config.featureGates, name as Parameters<typeof isGateOn>[1]),
    })),
  )
  const families = new ProxyMetricFamilies(registry, running.config.mode)
  return {
    registry,
    families,
    proxy: new PrometheusProxyMetrics(registry, families),
    source: new SourceMetrics(registry),
    requests: new RestClientMetrics(registry),
  }
}
