import { stringify } from 'yaml'
import type { UncheckedConfig } from '../proxy-config.ts'
import { configToV1alpha1 } from './config-to-v1alpha1.ts'

/** As a file that can be given to `--config`, keys in alphabetical order. */
export function renderConfigYaml(config: UncheckedConfig): string {
  // YAML 1.1 quotes words like `on`, which kube-proxy would otherwise read as true.
  return stringify(configToV1alpha1(config), { sortMapEntries: true, version: '1.1', lineWidth: 0, indentSeq: false })
}

/** The body of `/configz`. */
export function configzJson(config: UncheckedConfig): string {
  return JSON.stringify({ 'kubeproxy.config.k8s.io': configToV1alpha1(config) })
}
