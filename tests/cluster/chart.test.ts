/** The chart, in the hands of a real Helm and a real API server. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { configOf, containersOf, grantsOf, parseManifests } from '../testing/manifests.ts'
import type { Manifest } from '../testing/manifests.ts'
import { adminToken, startControlPlane } from './testing/control-plane.ts'
import type { ControlPlane } from './testing/control-plane.ts'
import { helmOf, withChart } from './testing/helm.ts'
import type { Helm } from './testing/helm.ts'
import { podMonitorDefinition } from './testing/pod-monitor-definition.ts'

let cluster: ControlPlane
let helm: Helm
beforeAll(async () => {
  cluster = await startControlPlane()
  helm = await helmOf(await cluster.writeKubeconfig({ token: adminToken }), cluster.folder)
})
afterAll(() => cluster[Symbol.asyncDispose]())

const here = 'apiServer.host=10.0.0.1'

test('is taken by helm lint --strict', async () => {
  const { ok, output } = await helm('lint', '--strict', ...withChart([here]))
  expect(output).not.toMatch(/WARN|ERROR/)
  expect(ok).toBe(true)
})

describe('values that cannot be right are refused, and the answer names them', () => {
  test.each([
    ['mood=nftables', /additional properties 'mood' not allowed/],
    ['image.tga=1', /'\/image'.*additional properties 'tga' not allowed/],
    ['mode=kernelspace', /'\/mode'.*must be one of 'nftables', 'ebpf', 'iptables', 'ipvs', 'userspace'/],
    ['config.clusterCidr=10.0.0.0/8', /'\/config'.*additional properties 'clusterCidr' not allowed/],
    ['config.conntrack.maxPerCore=many', /'\/config\/conntrack\/maxPerCore'.*want null or integer/],
    ['config.mode=iptables', /'\/config\/mode'/],
    ['config.hostnameOverride=node1', /'\/config\/hostnameOverride'/],
    ['config.iptables.syncPeriod=5', /'\/config\/iptables\/syncPeriod'.*want null or string/],
    ['featureGates.Some=maybe', /'\/featureGates\/Some'.*want boolean/],
    ['apiServer.host=https://10.0.0.1:6443', /'\/apiServer\/host'.*does not match pattern/],
    ['ebpf.connectedUdpOfPods=yes', /'\/ebpf\/connectedUdpOfPods'.*must be one of 'nftables', 'sockets'/],
    ['extraCapabilities={CAP_NET_RAW}', /'\/extraCapabilities\/0'/],
    ['seLinuxOptions.typ=spc_t', /'\/seLinuxOptions'.*additional properties 'typ' not allowed/],
    ['livenessProbe.timeoutSeconds=0', /'\/livenessProbe\/timeoutSeconds'/],
    ['console.port=0', /'\/console\/port'/],
    ['stateDir=state', /'\/stateDir'.*does not match pattern/],
  ])('%s', async (value, words) => {
    const { ok, output } = await helm('template', 'fairlead', ...withChart([here, value]))
    expect(ok).toBe(false)
    expect(output).toMatch(words)
  })

  test('a PodMonitor for metrics that only the node itself can read', async () => {
    const values = [here, 'podMonitor.enabled=true', 'config.metricsBindAddress=127.0.0.1:9']
    const { ok, output } = await helm('template', 'fairlead', ...withChart(values))
    expect(ok).toBe(false)
    expect(output).toContain('Prometheus cannot reach config.metricsBindAddress 127.0.0.1:9')
  })
})

test('a backend cannot remove a taint', async () => {
  const values = [here, 'core.enabled=true', 'removeNotReadyTaint=true']
  const { ok, output } = await helm('template', 'fairlead', ...withChart(values))
  expect(ok).toBe(false)
  expect(output).toContain('the backend has no access to the API server')
})

describe('what the values change', () => {
  test('the configuration: fields of the value config, over those of the chart', async () => {
    const values = [here, 'mode=ipvs', 'config.oomScoreAdj=-5', 'config.ipvs.scheduler=lc', 'featureGates.A=true']
    expect(parse(configOf(await rendered(...values)))).toEqual({
      apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
      kind: 'KubeProxyConfiguration',
      mode: 'ipvs',
      oomScoreAdj: -5,
      ipvs: { scheduler: 'lc' },
      featureGates: { A: true },
    })
  })

  test("kubeadm's configuration is taken as it is, with nulls that mean the default", async () => {
    const own = new URL('../../src/config/testing/written-by-kube-proxy/defaults.yaml.txt', import.meta.url)
    const text = readFileSync(own, 'utf8').replace(/^mode: .*$/m, 'mode: ""')
    const nulls = text.replace(/maxPerCore: .*/, 'maxPerCore: null').replace(/oomScoreAdj: .*/, 'oomScoreAdj: null')
    const ofKubeadm = nulls.replace(/kubeconfig: .*/, 'kubeconfig: /var/lib/kube-proxy/kubeconfig.conf')
    const file = join(cluster.folder, 'values.yaml')
    await writeFile(file, `config:\n${ofKubeadm.replaceAll(/^/gm, '  ')}`)
    const { ok, output } = await helm('template', 'fairlead', ...withChart([here]), `--values=${file}`)
    expect(output).not.toContain('Error')
    expect(ok).toBe(true)
    const config = parse(configOf(parseManifests(output))) as Record<string, unknown>
    expect(config).toMatchObject({ mode: 'nftables', oomScoreAdj: -997, bindAddress: '0.0.0.0' })
    expect(config['clientConnection']).not.toHaveProperty('kubeconfig')
    expect(config['conntrack']).not.toHaveProperty('maxPerCore')
    expect(config).not.toHaveProperty('hostnameOverride')
  })

  test('kernelSettings=none: nothing is privileged, and nothing of the kernel is asked for', async () => {
    const manifests = await rendered(here, 'mode=iptables', 'kernelSettings=none')
    expect(JSON.stringify(manifests)).not.toContain('"privileged"')
    expect(containersOf(manifests).map(({ name }) => name)).toEqual(['doctor', 'fairlead'])
    expect(parse(configOf(manifests))).toMatchObject({
      conntrack: { maxPerCore: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
      iptables: { localhostNodePorts: false },
    })
  })

  test('ebpf.connectedUdpOfPods=sockets: the right to enter pods, and where their networks are, in ebpf mode alone', async () => {
    const grants = async (...values: readonly string[]) => {
      const text = JSON.stringify(await rendered(here, ...values))
      return [text.includes('"SYS_ADMIN"'), text.includes('"/run/netns"')]
    }
    expect(await grants('mode=ebpf')).toEqual([false, false])
    expect(await grants('mode=ebpf', 'ebpf.connectedUdpOfPods=sockets')).toEqual([true, true])
    expect(await grants('mode=ebpf', 'extraCapabilities={SYS_ADMIN}')).toEqual([true, true])
    expect(await grants('ebpf.connectedUdpOfPods=sockets')).toEqual([false, false])
  })

  test('networks of pods that come later are seen in the container, too', async () => {
    const values = [here, 'mode=ebpf', 'ebpf.connectedUdpOfPods=sockets']
    const mounts = containersOf(await rendered(...values)).flatMap(({ volumeMounts = [] }) => volumeMounts)
    const named = mounts.filter(({ mountPath }) => mountPath === '/run/netns')
    expect(new Set(named.map(({ mountPropagation }) => mountPropagation))).toEqual(new Set(['HostToContainer']))
  })

  test('podMonitor.enabled: one object more, and metrics where Prometheus can reach them', async () => {
    const manifests = await rendered(here, 'podMonitor.enabled=true', 'podMonitor.labels.team=net')
    const monitor = manifests.find(({ kind }) => kind === 'PodMonitor')
    expect(monitor?.metadata).toMatchObject({ labels: { team: 'net' } })
    expect(JSON.stringify(monitor)).toContain('$1:10249')
    expect(parse(configOf(manifests))).toMatchObject({ metricsBindAddress: '0.0.0.0:10249' })
  })

  test('a new configuration restarts pods only for what a running proxy cannot change', async () => {
    const template = async (...values: readonly string[]) =>
      (await rendered(here, ...values)).find(({ kind }) => kind === 'DaemonSet')
    const before = await template()
    expect(await template('config.logging.verbosity=4', 'config.clusterCIDR=10.0.0.0/8')).toEqual(before)
    expect(await template('config.conntrack.maxPerCore=4')).not.toEqual(before)
    // In iptables mode they may need route_localnet, which the proxy's own container cannot write.
    const nodePorts = 'config.nodePortAddresses={127.0.0.0/8}'
    expect(await template(nodePorts)).toEqual(before)
    expect(await template(nodePorts, 'mode=iptables')).not.toEqual(await template('mode=iptables'))
    expect(await template('config.logging.verbosity=4', 'restartOnConfigChange=always')).not.toEqual(before)
  })

  test.each([
    ['0.0.0.0:10256', {}],
    ['10.0.0.5:9', {}],
    ['127.0.0.2:9', { host: '127.0.0.2' }],
    ['[::1]:9', { host: '::1' }],
    ['::1', { host: '::1' }],
    ['[::1:2]:9', {}],
  ])('the kubelet asks for health where the proxy listens: %s', async (address, where) => {
    const manifests = await rendered(here, `config.healthzBindAddress=${address}`)
    const port = address.endsWith(':9') ? 9 : 10256
    const asked = probesOf(manifests).map(({ httpGet: { host, port: at } }) => ({
      ...(host !== undefined && { host }),
      port: at,
    }))
    expect(asked).toEqual([1, 2, 3].map(() => ({ ...where, port })))
  })

  test('a slow node has three minutes for one answer before a proxy is restarted', async () => {
    const [startup, liveness] = probesOf(await rendered(here))
    const { periodSeconds = 10, failureThreshold = 3, timeoutSeconds = 1 } = liveness ?? {}
    expect(periodSeconds * failureThreshold).toBeGreaterThanOrEqual(180)
    expect([timeoutSeconds, startup?.timeoutSeconds]).toEqual([10, 10])
    const [, patient] = probesOf(await rendered(here, 'livenessProbe.failureThreshold=30'))
    expect(patient).toEqual({ ...liveness, failureThreshold: 30 })
  })

  test('seLinuxOptions: the label of all containers', async () => {
    const [{ spec } = {}] = (await rendered(here, 'seLinuxOptions.type=spc_t')).filter(
      ({ kind }) => kind === 'DaemonSet',
    )
    expect(JSON.stringify(spec)).toContain('"seLinuxOptions":{"type":"spc_t"}')
    expect(JSON.stringify(await rendered(here))).not.toContain('seLinuxOptions')
  })

  test('console.enabled: a console on loopback, off by default', async () => {
    const argsOf = async (...values: string[]) =>
      containersOf(await rendered(here, ...values)).flatMap(({ args }) =>
        args.filter((arg) => arg.startsWith('--console')),
      )
    expect(await argsOf()).toEqual([])
    const on = await argsOf('console.enabled=true', 'console.port=1234')
    expect(new Set(on)).toEqual(new Set(['--console-bind-address=127.0.0.1:1234']))
    expect(on.length).toBeGreaterThan(0)
  })

  test('the rest shows in the DaemonSet', async () => {
    const text = JSON.stringify(
      await rendered(
        here,
        'image.repository=registry.example/fairlead',
        'image.tag=1.2.3',
        'tracing.endpoint=http://collector:4318',
        'extraArgs={--strict-source-ranges}',
        'nodeSelector.pool=a',
        'canary=true',
        'config.healthzBindAddress=127.0.0.1:9999',
        'stateDir=',
        'doctor.failOn=warning',
      ),
    )
    for (const part of [
      '"image":"registry.example/fairlead:1.2.3"',
      '"--otlp-endpoint=http://collector:4318"',
      '"--strict-source-ranges"',
      '"fairlead.dev/proxy":"fairlead","pool":"a"',
      '{"host":"127.0.0.1","path":"/livez","port":9999}',
      '"--fail-on=warning"',
    ])
      expect(text).toContain(part)
    expect(text).not.toContain('--state-dir')
  })
})

describe('in a cluster', () => {
  test('without an address of the API server, nothing is installed', async () => {
    const { ok, output } = await helm('install', 'fairlead', ...withChart([]))
    expect(ok).toBe(false)
    expect(output).toContain('apiServer.host is needed')
    expect(await objects()).toEqual([])
  })

  test('is installed with the address of the only API server', async () => {
    await cluster.client.expect(201, 'POST', '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
      metadata: { name: 'kubernetes', labels: { 'kubernetes.io/service-name': 'kubernetes' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['192.0.2.1'] }],
      ports: [{ name: 'https', port: 8443, protocol: 'TCP' }],
    })
    const { ok, output } = await helm('install', 'fairlead', ...withChart([]))
    expect(output).toContain('API server: 192.0.2.1:8443 (found in the cluster')
    expect(ok).toBe(true)
    expect(await objects()).toEqual(['ClusterRole', 'ClusterRoleBinding', 'ConfigMap', 'DaemonSet', 'ServiceAccount'])
    expect(await apiServerInPods()).toEqual({ host: '192.0.2.1', port: '8443' })
  })

  test('an upgrade to another mode changes configuration and capabilities, and takes the address of kubeadm', async () => {
    await cluster.client.expect(201, 'POST', '/api/v1/namespaces/kube-system/configmaps', {
      metadata: { name: 'kube-proxy' },
      data: { 'kubeconfig.conf': 'clusters:\n- cluster:\n    server: https://[fd00::5]:6443\n  name: default\n' },
    })
    const { ok, output } = await helm('upgrade', 'fairlead', ...withChart(['mode=iptables']))
    expect(output).toContain('Fairlead, iptables mode.')
    expect(ok).toBe(true)
    expect(await apiServerInPods()).toEqual({ host: 'fd00::5', port: '6443' })
    const { spec } = await daemonSet()
    expect(JSON.stringify(spec)).toContain('"add":["NET_ADMIN","NET_RAW"]')
    const { data } = await cluster.client.expect(200, 'GET', '/api/v1/namespaces/kube-system/configmaps/fairlead')
    expect((data as Record<string, string>)['config.yaml']).toContain('mode: iptables\n')
  })

  test('an upgrade as docs/install.md has it keeps what was given before', async () => {
    const { ok } = await helm('upgrade', 'fairlead', ...withChart(['canary=true']), '--reset-then-reuse-values')
    expect(ok).toBe(true)
    const { spec } = await daemonSet()
    expect(JSON.stringify(spec)).toContain('"fairlead.dev/proxy":"fairlead"')
    expect(JSON.stringify(spec)).toContain('"fairlead.dev/mode":"iptables"')
  })

  test('a roll back brings the mode before', async () => {
    expect((await helm('rollback', 'fairlead', '1', '--namespace=kube-system')).output).toContain('success')
    expect(JSON.stringify((await daemonSet()).spec)).toContain('"add":["NET_ADMIN"]')
  })

  test('a core has fewer rights', async () => {
    const grants = grantsOf(await rendered(here, 'core.enabled=true'))
    expect([...grants].filter((grant) => grant.includes('events'))).toEqual([])
    expect(grants.size).toBe(8)
  })

  test('nothing is left when it is uninstalled', async () => {
    expect((await helm('uninstall', 'fairlead', '--namespace=kube-system')).ok).toBe(true)
    expect(await objects()).toEqual([])
  })
})

describe("a PodMonitor, by the Prometheus Operator's own definition", () => {
  const path = '/apis/monitoring.coreos.com/v1/namespaces/kube-system/podmonitors'
  const post = (body: object) => cluster.client.request('POST', `${path}?dryRun=All&fieldValidation=Strict`, { body })

  test.each([
    ['as it is', []],
    ['with an interval and labels', ['podMonitor.interval=15s', 'podMonitor.labels.team=net']],
    ['of a core and its backend', ['core.enabled=true', 'config.metricsBindAddress=[::]:9']],
  ])('%s is taken, and every field of it is known', async (_, values) => {
    const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    const { status } = await cluster.client.request('POST', crds, { body: await podMonitorDefinition() })
    expect([201, 409]).toContain(status)
    const manifests = await rendered(here, 'podMonitor.enabled=true', ...values)
    const monitor = manifests.find(({ kind }) => kind === 'PodMonitor') as unknown as Readonly<Record<string, unknown>>
    // A definition takes a moment to be served.
    await expect.poll(async () => (await post(monitor)).status, { timeout: 30_000, interval: 200 }).toBe(201)
    expect((await post(monitor)).json['spec']).toMatchObject(monitor['spec'] as object)
    const wrong = await post({ ...monitor, spec: { ...(monitor['spec'] as object), podMetricsEndpoint: [] } })
    expect([wrong.status, String(wrong.json['message'])]).toEqual([
      400,
      expect.stringContaining('unknown field "spec.podMetricsEndpoint"'),
    ])
  })
})

async function rendered(...values: readonly string[]): Promise<readonly Manifest[]> {
  const { ok, output } = await helm('template', 'fairlead', ...withChart(values))
  if (!ok) throw new Error(output)
  return parseManifests(output)
}

interface Probe {
  readonly httpGet: { readonly host?: string; readonly path: string; readonly port: number }
  readonly periodSeconds?: number
  readonly timeoutSeconds?: number
  readonly failureThreshold?: number
}

/** Of the proxy: for its start, for its life, and for being ready. */
function probesOf(manifests: readonly Manifest[]): readonly Probe[] {
  const proxy = containersOf(manifests).find(({ name }) => name === 'fairlead') as
    Readonly<Record<string, unknown>> | undefined
  return ['startupProbe', 'livenessProbe', 'readinessProbe'].map((name) => proxy?.[name] as Probe)
}

/** The kinds of everything that has our label. */
async function objects(): Promise<readonly string[]> {
  const paths = {
    ClusterRole: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
    ClusterRoleBinding: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
    ConfigMap: '/api/v1/namespaces/kube-system/configmaps',
    DaemonSet: '/apis/apps/v1/namespaces/kube-system/daemonsets',
    ServiceAccount: '/api/v1/namespaces/kube-system/serviceaccounts',
  }
  const found = await Promise.all(
    Object.entries(paths).map(async ([kind, path]) => {
      const list = await cluster.client.expect(200, 'GET', `${path}?labelSelector=app.kubernetes.io/name%3Dfairlead`)
      return (list['items'] as readonly unknown[]).map(() => kind)
    }),
  )
  return found.flat()
}

async function daemonSet(): Promise<Manifest> {
  const path = '/apis/apps/v1/namespaces/kube-system/daemonsets/fairlead'
  return (await cluster.client.expect(200, 'GET', path)) as unknown as Manifest
}

async function apiServerInPods(): Promise<{ readonly host: string | undefined; readonly port: string | undefined }> {
  const { env = [] } = containersOf([await daemonSet()]).find(({ name }) => name === 'fairlead') ?? {}
  const valueOf = (name: string) => env.find((variable) => variable.name === name)?.value
  return { host: valueOf('KUBERNETES_SERVICE_HOST'), port: valueOf('KUBERNETES_SERVICE_PORT') }
}
