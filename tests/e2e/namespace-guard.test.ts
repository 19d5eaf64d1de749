/** The guard of external IPs by annotations of Namespaces, from a real watch of them. */
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readFile } from 'node:fs/promises'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { Cluster } from './testing/cluster.ts'
import { DaemonProcess, nodeName } from './testing/daemon-process.ts'
import { eventually } from './testing/eventually.ts'
import { node, service, slice } from './testing/objects.ts'
import type { KubernetesObject } from './testing/objects.ts'

const namespace: KubernetesObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } }
const named = () => service('web', 80, { externalIPs: ['198.51.100.7'] })
const flags = ['--external-ip-guard-namespaces', '--debug-socket=none']

/** How many addresses of Services are refused, as Prometheus sees it. */
async function refused(daemon: DaemonProcess): Promise<string | undefined> {
  const { body } = await daemon.metrics('/metrics')
  return /^fairlead_service_notices\{ip_family="IPv4",reason="ExternalIPNotAllowed"\} (\d+)$/m.exec(body)?.[1]
}

test.concurrent('a Namespace takes an address away from its Services, and gives it back', async () => {
  await using cluster = await Cluster.start(node(nodeName), named(), slice('web', 9))
  const annotate = (text: string | null) =>
    cluster.merge(namespace, { metadata: { annotations: { 'fairlead.dev/external-ip-cidrs': text } } })
  await annotate('none')
  await using daemon = await DaemonProcess.start(`--kubeconfig=${cluster.kubeconfig}`, ...flags)
  await eventually(async () => expect(await refused(daemon)).toBe('1'))
  const { body } = await daemon.metrics('/debug/explain?target=198.51.100.7:80&output=text')
  expect(body).toContain('names it as external IP and does not get it: its namespace does not allow it')
  await eventually(async () =>
    expect(await cluster.events()).toContainEqual(expect.objectContaining({ reason: 'ExternalIPNotAllowed' })),
  )
  await annotate('198.51.100.0/24')
  await eventually(async () => expect(await refused(daemon)).toBe('0'))
  await annotate('198.51.100.7')
  await daemon.process.says('"198.51.100.7\\" is not a CIDR and allows nothing')
  await eventually(async () => expect(await refused(daemon)).toBe('1'))
  await annotate(null)
  await eventually(async () => expect(await refused(daemon)).toBe('0'))
})

test.concurrent('without the right to read Namespaces the verb is named, and all else works', async () => {
  await using cluster = await Cluster.start(node(nodeName), named(), slice('web', 9))
  await cluster.merge(namespace, { metadata: { annotations: { 'fairlead.dev/external-ip-cidrs': 'none' } } })
  await using gate = await forbidNamespaces(await serverOf(cluster))
  await using daemon = await DaemonProcess.start(`--master=${gate.url}`, ...flags)
  await daemon.process.says('needs the verbs list and watch on namespaces')
  await eventually(async () => expect(await refused(daemon)).toBe('0'))
  gate.open()
  await eventually(async () => expect(await refused(daemon)).toBe('1'))
})

async function serverOf({ kubeconfig }: Cluster): Promise<string> {
  const [, url = ''] = /server: (\S+)/.exec(await readFile(kubeconfig, 'utf8')) ?? []
  return url
}

/** Stands before the API server, as a role without the right would. */
async function forbidNamespaces(target: string): Promise<AsyncDisposable & { readonly url: string; open(): void }> {
  let isOpen = false
  const server = createServer((asked, answer) => {
    if (!isOpen && asked.url?.startsWith('/api/v1/namespaces?') === true) {
      const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Forbidden', code: 403 }
      const message = 'namespaces is forbidden: User "test" cannot list resource "namespaces" in API group ""'
      answer.writeHead(403, { 'content-type': 'application/json' }).end(JSON.stringify({ ...status, message }))
      return
    }
    const { method, headers, url = '' } = asked
    const inner = request(new URL(url, target), { method, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers)
      answer.flushHeaders()
      got.pipe(answer)
    })
    inner.on('error', () => answer.destroy())
    answer.on('close', () => inner.destroy())
    asked.pipe(inner)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    open: () => void (isOpen = true),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
