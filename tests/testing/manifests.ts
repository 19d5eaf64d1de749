/** Manifests of deploy, as `kubectl apply -k` sends them. */
import { execFileSync, spawnSync } from 'node:child_process'
import { parseAllDocuments } from 'yaml'

export const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0

export interface Container {
  readonly name: string
  readonly command: readonly string[]
  readonly args: readonly string[]
  readonly env?: readonly { readonly name: string; readonly value?: string }[]
  readonly volumeMounts?: readonly { readonly mountPath: string; readonly mountPropagation?: string }[]
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
  readonly spec?: { readonly template: { readonly spec: PodSpec } }
}

export interface PodSpec {
  readonly serviceAccountName: string
  readonly nodeName?: string
  readonly initContainers?: readonly Container[]
  readonly containers: readonly Container[]
}

export function manifestsIn(folder: string): readonly Manifest[] {
  return parseManifests(execFileSync('kubectl', ['kustomize', folder], { encoding: 'utf8' }))
}

export function parseManifests(text: string): readonly Manifest[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null)
}

/** Those that come first included. */
export function containersOf(manifests: readonly Manifest[]): readonly Container[] {
  return manifests.flatMap(({ spec }) => {
    const { initContainers = [], containers = [] } = spec?.template.spec ?? {}
    return [...initContainers, ...containers]
  })
}

/** The file of `--config`. */
export function configOf(manifests: readonly Manifest[]): string {
  const text = manifests.find(({ data }) => data?.['config.yaml'] !== undefined)?.data?.['config.yaml']
  if (text === undefined) throw new Error('no manifest has a config.yaml')
  return text
}

/** What the roles allow, such as `watch endpointslices.discovery.k8s.io`. */
export function grantsOf(manifests: readonly Manifest[]): ReadonlySet<string> {
  return new Set(
    manifests
      .flatMap(({ rules }) => rules ?? [])
      .flatMap(({ apiGroups, resources, verbs }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((name) => verbs.map((verb) => `${verb} ${group === '' ? name : `${name}.${group}`}`)),
        ),
      ),
  )
}
