/** What every Kubernetes component exposes about itself. */
import type { MetricRegistry } from './prometheus.ts'

export interface BuildInfo {
  readonly major: string
  readonly minor: string
  readonly gitVersion: string
  readonly gitCommit: string
  readonly gitTreeState: string
  readonly buildDate: string
  readonly platform: string
}

export interface FeatureState {
  readonly name: string
  /** `ALPHA`, `BETA`, `DEPRECATED`, or empty for one that is generally available. */
  readonly stage: string
  readonly isEnabled: boolean
}

export function addBuildInfo(registry: MetricRegistry, build: BuildInfo, runtimeVersion: string): void {
  const gauge = registry.gauge({
    name: 'kubernetes_build_info',
    labels: [
      'build_date',
      'compiler',
      'git_commit',
      'git_tree_state',
      'git_version',
      'go_version',
      'major',
      'minor',
      'platform',
    ],
    help: '[BETA] Always 1; the labels say which build this is. go_version holds the version of Node.js.',
  })
  gauge.set(
    {
      build_date: build.buildDate,
      compiler: 'node',
      git_commit: build.gitCommit,
      git_tree_state: build.gitTreeState,
      git_version: build.gitVersion,
      go_version: runtimeVersion,
      major: build.major,
      minor: build.minor,
      platform: build.platform,
    },
    1,
  )
}

export function addFeatureStates(registry: MetricRegistry, features: () => readonly FeatureState[]): void {
  registry.gauge(
    {
      name: 'kubernetes_feature_enabled',
      labels: ['name', 'stage'],
      help: '[BETA] Whether a feature gate is on (1) or off (0), and its stage.',
    },
    (gauge) => {
      for (const { name, stage, isEnabled } of features()) gauge.set({ name, stage }, isEnabled ? 1 : 0)
    },
  )
}
