/** What `fairlead doctor` says about the way to a real API server. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { doctorCommand } from '../../src/cli/doctor/doctor-command.ts'
import type { Finding } from '../../src/cli/doctor/finding.ts'
import { thisHost } from '../../src/cli/host/this-host.ts'
import { unwatched } from '../../src/cli/program.ts'
import { CertificateAuthority } from './testing/certificates.ts'
import { adminToken, startControlPlane } from './testing/control-plane.ts'
import type { ControlPlane } from './testing/control-plane.ts'
import { powerlessToken, proxyToken } from './testing/service-account.ts'

let cluster: ControlPlane
beforeAll(async () => {
  cluster = await startControlPlane()
})
afterAll(() => cluster[Symbol.asyncDispose]())

/** What it finds about the API server and about objects; of this machine, only what concerns those. */
async function examine(kubeconfig: string, ...flags: readonly string[]): Promise<readonly Finding[]> {
  let text = ''
  const program = { ...unwatched, host: thisHost(), out: (piece: string) => void (text += piece), err: () => {} }
  const argv = ['-o', 'json', '--proxy-mode=userspace', '--hostname-override=node-a', `--kubeconfig=${kubeconfig}`]
  await doctorCommand([...argv, ...flags], program, new AbortController().signal)
  const { findings } = JSON.parse(text) as { readonly findings: readonly Finding[] }
  return findings.filter(({ check }) => ['api', 'clock', 'node-object', 'services'].includes(check))
}

const missing = (findings: readonly Finding[]) =>
  findings.filter(({ name }) => name.startsWith('api-right-missing')).map(({ evidence }) => evidence.split(':')[0])

test('an administrator has every right, and the clocks agree', async () => {
  expect(await examine(await cluster.writeKubeconfig({ token: adminToken }), '--before-start')).toEqual([])
})

test('the rights of kube-proxy are enough', async () => {
  const kubeconfig = await cluster.writeKubeconfig({ token: await proxyToken(cluster, 'proxy') })
  expect(await examine(kubeconfig, '--before-start')).toEqual([])
})

test('each right that is missing is named', async () => {
  const kubeconfig = await cluster.writeKubeconfig({ token: await powerlessToken(cluster, 'nobody') })
  const findings = await examine(kubeconfig, '--before-start')
  expect(missing(findings)).toEqual([
    'SelfSubjectAccessReview list services',
    'SelfSubjectAccessReview watch services',
    'SelfSubjectAccessReview list endpointslices.discovery.k8s.io',
    'SelfSubjectAccessReview watch endpointslices.discovery.k8s.io',
    'SelfSubjectAccessReview list nodes',
    'SelfSubjectAccessReview watch nodes',
    'SelfSubjectAccessReview list servicecidrs.networking.k8s.io',
    'SelfSubjectAccessReview watch servicecidrs.networking.k8s.io',
    'SelfSubjectAccessReview create events.events.k8s.io',
  ])
  expect(findings.filter(({ severity }) => severity === 'error')).toHaveLength(6)
})

test('one right that is missing is the only one named', async () => {
  const rules = [
    { apiGroups: [''], resources: ['services', 'nodes'], verbs: ['list', 'watch'] },
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list'] },
    { apiGroups: ['networking.k8s.io'], resources: ['servicecidrs'], verbs: ['list', 'watch'] },
    { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create'] },
  ]
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  await cluster.client.expect(201, 'POST', `${rbac}/clusterroles`, { metadata: { name: 'almost' }, rules })
  await cluster.client.expect(201, 'POST', `${rbac}/clusterrolebindings`, {
    metadata: { name: 'almost' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'almost' },
    subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: 'almost' }],
  })
  const kubeconfig = await cluster.writeKubeconfig({ token: await powerlessToken(cluster, 'almost') })
  const findings = await examine(kubeconfig, '--before-start')
  expect(missing(findings)).toEqual(['SelfSubjectAccessReview watch endpointslices.discovery.k8s.io'])
})

test('a token that nobody knows is refused', async () => {
  const findings = await examine(await cluster.writeKubeconfig({ token: 'unknown' }), '--before-start')
  expect(findings).toMatchObject([{ name: 'api-credentials-refused', severity: 'error' }])
})

test('a server that another CA has signed is not trusted', async () => {
  const folder = join(cluster.folder, 'other-authority')
  await mkdir(folder)
  const other = await CertificateAuthority.create(folder)
  const kubeconfig = await cluster.writeKubeconfig({ token: adminToken })
  const text = await readFile(kubeconfig, 'utf8')
  await writeFile(kubeconfig, text.replace(cluster.authority.certFile, other.certFile))
  expect(await examine(kubeconfig, '--before-start')).toMatchObject([{ name: 'api-untrusted', severity: 'error' }])
})

test('a Node that the cluster does not have, and a Service that nobody serves', async () => {
  await cluster.client.expect(201, 'POST', '/api/v1/namespaces/default/services', {
    metadata: { name: 'lonely' },
    spec: { selector: { app: 'lonely' }, ports: [{ port: 80 }] },
  })
  const findings = await examine(await cluster.writeKubeconfig({ token: adminToken }))
  expect(findings.map(({ name, evidence }) => `${name}: ${evidence}`)).toEqual(
    expect.arrayContaining(['node-unknown: no Node named node-a', 'service-no-endpoints: no EndpointSlice names it']),
  )
})
