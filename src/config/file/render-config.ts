import { stringify } from 'yaml'
import { isDeepStrictEqual } from 'node:util'
import type { UncheckedConfig } from '../proxy-config.ts'
import { defaultConfig } from './config-from-v1alpha1.ts'
import { configToV1alpha1, fairleadToV1alpha1 } from './config-to-v1alpha1.ts'

/** As a file that can be given to `--config`, keys in alphabetical order. */
export function renderConfigYaml(config: UncheckedConfig): string {
  // YAML 1.1 quotes words like `on`, which kube-proxy would otherwise read as true.
  const render = (document: object) =>
    stringify(document, { sortMapEntries: true, version: '1.1', lineWidth: 0, indentSeq: false })
  const first = render(configToV1alpha1(config))
  const isUsual = isDeepStrictEqual(config.fairlead, defaultConfig().fairlead)
  return isUsual ? first : `${first}---\n${render(fairleadToV1alpha1(config))}`
}
