/** A real API server takes the manifests of deploy/manifests, and they are what the chart makes of its values. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { manifestsIn } from '../testing/manifests.ts'
import type { Manifest, PodSpec } from '../testing/manifests.ts'
import { manifestFiles, variants } from '../../tools/deploy/manifests.ts'
import type { Variant } from '../../tools/deploy/manifests.ts'
import { manifestsFolder } from '../../tools/deploy/places.ts'
import { adminToken, startControlPlane } from './testing/control-plane.ts'
import type { ControlPlane } from './testing/control-plane.ts'
import { kubectlOf } from './testing/kubectl.ts'

let cluster: ControlPlane
let kubectl: ReturnType<typeof kubectlOf>
beforeAll(async () => {
  cluster = await startControlPlane()
  kubectl = kubectlOf(await cluster.writeKubeconfig({ token: adminToken }))
})
afterAll(() => cluster[Symbol.asyncDispose]())

test('the manifests are what the chart says (else run npm run manifests)', async () => {
  for (const [path, text] of await manifestFiles()) expect(readFileSync(path, 'utf8')).toBe(text)
})

describe.each(Object.keys(variants) as Variant[])('%s', (variant) => {
  const folder = join(manifestsFolder, variant)
  const manifests = manifestsIn(folder)
  const pod = manifests.find(({ kind }) => kind === 'DaemonSet')?.spec?.template.spec

  test('is taken on trial', async () => {
    const headers = { 'content-type': 'application/apply-patch+yaml' }
    for (const manifest of manifests) {
      const path = `${pathOf(manifest)}?dryRun=All&fieldManager=test&force=true`
      const { status } = await cluster.client.request('PATCH', path, { headers, body: manifest })
      expect([200, 201]).toContain(status)
    }
  })

  test('is applied, and a second time without a change', () => {
    expect(kubectl('apply', '-k', folder)).toMatch(/^daemonset\.apps\/fairlead (created|configured)$/m)
    const second = kubectl('apply', '-k', folder).trim().split('\n')
    expect(second.filter((line) => !line.endsWith(' unchanged'))).toEqual([])
  })

  test('makes pods of the priority of nodes, without a port of the node', async () => {
    const made = await cluster.client.expect(201, 'POST', podsIn('kube-system'), { metadata, spec: pod })
    expect(made['spec']).toMatchObject({ hostNetwork: true, priority: 2_000_001_000, os: { name: 'linux' } })
    expect(JSON.stringify(made)).not.toContain('hostPort')
  })

  test('is above the level "baseline" of Pod Security, for these reasons only', async () => {
    const reasons = ['host namespaces', 'hostPath volumes', 'non-default capabilities', 'privileged']
    const ofCore = variant === 'core-and-backends' ? ['probe or lifecycle host'] : []
    expect(await objections('baseline', pod)).toEqual([...reasons, ...ofCore])
    expect(await objections('privileged', pod)).toEqual([])
  })
})

test('a folder can be changed to run on some nodes only, and back', async () => {
  const selector = async () => {
    const path = '/apis/apps/v1/namespaces/kube-system/daemonsets/fairlead'
    const { spec } = await cluster.client.expect(200, 'GET', path)
    return (spec as { template: { spec: { nodeSelector: object } } }).template.spec.nodeSelector
  }
  kubectl('apply', '-k', join(manifestsFolder, 'canary/nftables'))
  expect(await selector()).toEqual({ 'fairlead.dev/proxy': 'fairlead', 'kubernetes.io/os': 'linux' })
  kubectl('apply', '-k', join(manifestsFolder, 'nftables'))
  expect(await selector()).toEqual({ 'kubernetes.io/os': 'linux' })
})

test('the PodMonitor fits the pods of every folder', () => {
  const text = readFileSync(join(manifestsFolder, 'pod-monitor.yaml'), 'utf8')
  const { spec } = parse(text) as {
    spec: { selector: object; podMetricsEndpoints: [{ relabelings: [{ regex: string }] }] }
  }
  const [
    {
      relabelings: [kept],
    },
  ] = spec.podMetricsEndpoints
  for (const variant of Object.keys(variants)) {
    const daemonSet = manifestsIn(join(manifestsFolder, variant)).find(({ kind }) => kind === 'DaemonSet')
    expect(daemonSet?.spec).toMatchObject({ selector: spec.selector })
    const served = daemonSet?.spec?.template.spec.containers.filter(({ name }) =>
      new RegExp(`^(${kept.regex})$`).test(name),
    )
    expect(served?.length).toBe(1)
  }
})

describe('the patches for kube-proxy', () => {
  const affinity = async () => {
    const path = '/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy'
    const { spec } = await cluster.client.expect(200, 'GET', path)
    return (spec as { template: { spec: { affinity?: object } } }).template.spec.affinity ?? {}
  }
  const patch = (name: string) => {
    const file = join(manifestsFolder, 'canary', `${name}.yaml`)
    kubectl('-n', 'kube-system', 'patch', 'daemonset', 'kube-proxy', '--patch-file', file)
  }

  test('take it away from the nodes that Fairlead has, and bring it back', async () => {
    const labels = { 'k8s-app': 'kube-proxy' }
    await cluster.client.expect(201, 'POST', '/apis/apps/v1/namespaces/kube-system/daemonsets', {
      metadata: { name: 'kube-proxy' },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'kube-proxy', image: 'kube-proxy' }] } },
      },
    })
    patch('kube-proxy-leaves')
    const matchExpressions = [{ key: 'fairlead.dev/proxy', operator: 'NotIn', values: ['fairlead'] }]
    const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] } }
    expect(await affinity()).toEqual({ nodeAffinity: required })
    patch('kube-proxy-returns')
    expect(await affinity()).toEqual({})
  })
})

const metadata = { name: 'tried' }

const folders: Readonly<Record<string, string>> = {
  ServiceAccount: '/api/v1/namespaces/kube-system/serviceaccounts',
  ConfigMap: '/api/v1/namespaces/kube-system/configmaps',
  ClusterRole: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  ClusterRoleBinding: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
  DaemonSet: '/apis/apps/v1/namespaces/kube-system/daemonsets',
}

function pathOf({ kind, metadata: { name } }: Manifest): string {
  return `${folders[kind] ?? `there is no path for a ${kind}`}/${name}`
}

function podsIn(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/pods?dryRun=All`
}

/** What a namespace of this level of Pod Security has against such a pod. */
async function objections(level: string, spec: PodSpec | undefined): Promise<readonly string[]> {
  const labels = { 'pod-security.kubernetes.io/enforce': level }
  await cluster.client.request('POST', '/api/v1/namespaces', { body: { metadata: { name: level, labels } } })
  const answer = await cluster.client.request('POST', podsIn(level), { body: { metadata, spec } })
  if (answer.status === 201) return []
  const message = String(answer.json['message'])
  return [...message.replace(/^.*?latest": /, '').matchAll(/(?:^|, )([a-z][\w -]+?) \(/gi)]
    .map(([, name = '']) => name)
    .toSorted()
}
