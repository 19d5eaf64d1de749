import type { Counter, MetricRegistry } from './prometheus.ts'

export interface ConfigState {
  readonly runningHash: string
  readonly appliedAtMs: number
  /** Of a file of which some fields wait for a restart. */
  readonly pendingHash: string | undefined
  readonly pending: { readonly fields: readonly unknown[] } | undefined
  readonly refused: unknown
}

export type ReloadResult = 'applied' | 'unchanged' | 'refused'

export class ConfigMetrics {
  readonly #reloads: Counter<'result'>

  constructor(registry: MetricRegistry, state: ConfigState) {
    this.#reloads = registry.counter({
      name: 'fairlead_config_reloads_total',
      labels: ['result'],
      help: 'Changes of the configuration file, by what became of them: applied, unchanged (nothing to do) or refused.',
    })
    registry.gaugeFrom(
      {
        name: 'fairlead_config_hash_info',
        labels: ['state', 'hash'],
        help: 'Always 1; the label says which configuration runs, and which one is pending because some of it needs a restart.',
      },
      async () => [
        { labels: { state: 'running', hash: state.runningHash }, value: 1 },
        ...(state.pendingHash === undefined
          ? []
          : [{ labels: { state: 'pending', hash: state.pendingHash }, value: 1 }]),
      ],
    )
    const gauge = (name: string, help: string, value: () => number) =>
      registry.gaugeFrom({ name, labels: [], help }, async () => [{ labels: {}, value: value() }])
    gauge(
      'fairlead_config_last_reload_successful',
      'Whether the configuration file as it is could be used (1), or was refused (0).',
      () => (state.refused === undefined ? 1 : 0),
    )
    gauge(
      'fairlead_config_last_reload_success_timestamp_seconds',
      'When the running configuration was applied.',
      () => state.appliedAtMs / 1000,
    )
    gauge(
      'fairlead_config_pending_restart_fields',
      'Fields of the configuration file whose new value waits for a restart.',
      () => state.pending?.fields.length ?? 0,
    )
  }

  reloaded(result: ReloadResult): void {
    this.#reloads.increment({ result })
  }
}
