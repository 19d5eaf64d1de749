import type { Series } from './prometheus.ts'

/** From clients, or to them. */
export function directed<Label extends string>(
  series: Series<Label>,
  direction: 'in' | 'out',
): Series<Label | 'direction'> {
  return { ...series, labels: { ...series.labels, direction } }
}
