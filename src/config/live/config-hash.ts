import { createHash } from 'node:crypto'
import { configToV1alpha1, fairleadToV1alpha1 } from '../file/config-to-v1alpha1.ts'
import type { UncheckedConfig } from '../proxy-config.ts'

/**
 * Twelve digits that are the same on every node with the same settings, wherever they come from. The name of the node
 * does not count.
 */
export function configHash(config: UncheckedConfig): string {
  const settings = [configToV1alpha1({ ...config, hostnameOverride: '' }), fairleadToV1alpha1(config)]
  return createHash('sha256').update(JSON.stringify(settings, sortedKeys)).digest('hex').slice(0, 12)
}

function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)))
}
