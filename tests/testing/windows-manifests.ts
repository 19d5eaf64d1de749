/** The manifests of deploy/windows, as `kubectl apply -k` sends them. */
import { execFileSync, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'

export const variants = ['kernelspace', 'userspace', 'one-process'] as const
export type Variant = (typeof variants)[number]

export const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0

export interface Container {
  readonly name: string
  readonly command: readonly string[]
  readonly args: readonly string[]
  readonly env?: readonly { readonly name: string }[]
}

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly data?: Readonly<Record<string, string>>
  readonly rules?: readonly {
    readonly apiGroups: readonly string[]
    readonly resources: readonly string[]
    readonly verbs: readonly string[]
  }[]
  readonly spec?: { readonly template: { readonly spec: { readonly containers: readonly Container[] } } }
}

export function folderOf(variant: Variant): string {
  return fileURLToPath(new URL(`../../deploy/windows/manifests/${variant}`, import.meta.url))
}

export function manifestsOf(variant: Variant): readonly Manifest[] {
  const text = execFileSync('kubectl', ['kustomize', folderOf(variant)], { encoding: 'utf8' })
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest)
}

export function containersOf(manifests: readonly Manifest[]): readonly Container[] {
  return manifests.flatMap(({ spec }) => spec?.template.spec.containers ?? [])
}
