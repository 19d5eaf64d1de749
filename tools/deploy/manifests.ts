/** The folders of deploy/manifests, rendered from the chart: one truth for both. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isMap, parseAllDocuments } from 'yaml'
import { buildProgram } from '../../tests/cluster/testing/programs.ts'
import { chartFolder, formatted, manifestsFolder } from './places.ts'

/** What is set for each folder. */
export const variants = {
  nftables: ['mode=nftables'],
  ebpf: ['mode=ebpf'],
  iptables: ['mode=iptables'],
  ipvs: ['mode=ipvs'],
  userspace: ['mode=userspace'],
  'core-and-backends': ['mode=nftables', 'core.enabled=true'],
} as const

export type Variant = keyof typeof variants

const madeFrom = '# Made from deploy/helm/fairlead by "npm run manifests": change it there.'

/** The texts by path. Needs Helm. */
export async function manifestFiles(): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>()
  for (const name of Object.keys(variants) as Variant[]) {
    const folder = join(manifestsFolder, name)
    files.set(join(folder, 'fairlead.yaml'), await rendered(variants[name]))
    files.set(join(folder, 'kustomization.yaml'), kustomization)
    files.set(join(manifestsFolder, 'canary', name, 'kustomization.yaml'), canaryOf(name))
  }
  // It fits all folders, and only clusters with the Prometheus Operator take it.
  files.set(join(manifestsFolder, 'pod-monitor.yaml'), await rendered(['podMonitor.enabled=true'], 'podmonitor.yaml'))
  for (const [path, text] of files) files.set(path, await formatted(path, text))
  return files
}

/** All of the chart, or what one of its templates makes. */
async function rendered(values: readonly string[], template?: string): Promise<string> {
  const set = [...values, 'apiServer.configMap=fairlead-api-server'].flatMap((value) => ['--set', value])
  const args = ['template', 'fairlead', chartFolder, '--namespace=kube-system', ...set]
  if (template !== undefined) args.push(`--show-only=templates/${template}`)
  const { stdout } = await promisify(execFile)(await buildProgram('helm'), args)
  return `${madeFrom}\n---\n${withoutHelm(stdout)}`
}

/** Who applies these does not use Helm, and labels that say so would confuse it. */
function withoutHelm(text: string): string {
  const documents = parseAllDocuments(text).filter(({ contents }) => contents !== null)
  for (const document of documents) {
    document.commentBefore = null
    if (!('contents' in document) || !isMap(document.contents)) continue
    document.contents.commentBefore = null
    document.deleteIn(['metadata', 'labels', 'helm.sh/chart'])
    document.deleteIn(['metadata', 'labels', 'app.kubernetes.io/managed-by'])
  }
  return documents.map((document) => document.toString({ directives: false, lineWidth: 0 })).join('---\n')
}

const kustomization = `${madeFrom}
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - fairlead.yaml
`

function canaryOf(name: Variant): string {
  return `${madeFrom}
# Only on nodes with this label, so that kube-proxy serves the others.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - ../../${name}
patches:
  - target:
      kind: DaemonSet
    patch: |
      - op: add
        path: /spec/template/spec/nodeSelector/fairlead.dev~1proxy
        value: fairlead
`
}
