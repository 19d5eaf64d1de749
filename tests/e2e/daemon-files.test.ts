import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { startHttpBackend } from '../../src/cli/demo/sample-backends.ts'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { freePorts } from '../cluster/testing/free-ports.ts'
import { failureOf, whoAnswers } from './testing/clients.ts'
import { DaemonProcess } from './testing/daemon-process.ts'
import { eventually } from './testing/eventually.ts'
import { manifest, service, slice } from './testing/objects.ts'

const clusterIP = '10.96.0.10'

test.concurrent(
  'traffic to a Service in a manifest reaches its endpoint, and moves when the manifest is edited',
  async () => {
    await using rig = await webFromFiles()
    const { folder, url, green } = rig
    await eventually(async () => expect(await whoAnswers(url)).toBe('blue'))

    await folder.write('web-1.yaml', manifest(slice('web', green.port)))
    await eventually(async () => expect(await whoAnswers(url)).toBe('green'))
  },
)

test.concurrent('objects from standard input are read once, and served', async () => {
  await using blue = await startHttpBackend('blue')
  const { port } = await freePorts('port')
  const stdin = manifest(service('web', port, { clusterIP }), slice('web', blue.port))
  await using daemon = await DaemonProcess.startReading(stdin, '--objects=-')
  await eventually(async () => expect(await whoAnswers(`http://127.0.0.1:${port}`)).toBe('blue'))
  await daemon.isUp()
  daemon.process.send('SIGHUP')
  expect(await daemon.process.ended()).toEqual({ code: 0, signal: null })
})

test.concurrent('a Service in a new file is served too', async () => {
  await using rig = await webFromFiles()
  const { folder, blue } = rig
  await rig.daemon.isUp()
  const { port } = await freePorts('port')
  const late = service('late', port, { clusterIP: '10.96.0.11' })
  await folder.write('late.yaml', manifest(late, slice('late', blue.port)))
  await eventually(async () => expect(await whoAnswers(`http://127.0.0.1:${port}`)).toBe('blue'))
})

test.concurrent('a broken manifest is reported with file, line and column, and traffic goes on', async () => {
  await using rig = await webFromFiles()
  const { daemon, folder, url, green } = rig
  await eventually(async () => expect(await whoAnswers(url)).toBe('blue'))

  const file = await folder.write('web-1.yaml', 'kind: EndpointSlice\nports: [\nendpoints: []\n')
  await daemon.process.says(new RegExp(`${file}:3:\\d+: `))
  expect(await whoAnswers(url)).toBe('blue')

  await folder.write('web-1.yaml', manifest(slice('web', green.port)))
  await eventually(async () => expect(await whoAnswers(url)).toBe('green'))
})

test.concurrent('an object that is not valid is named with its field, and the others are served', async () => {
  await using rig = await webFromFiles()
  const { daemon, folder, url } = rig
  await folder.write('bad.yaml', manifest(service('bad', 70_000, { clusterIP: '10.96.0.12' })))
  await daemon.process.says(/"Service default\/bad" field="spec\.ports\[0\]\.port" reason=/)
  await eventually(async () => expect(await whoAnswers(url)).toBe('blue'))
  await daemon.isUp()
  const { body } = await daemon.metrics('/metrics')
  expect(body).toMatch(/^fairlead_object_problems_total\{kind="Service"\} [1-9]/m)
})

test.concurrent('the health and metrics servers answer as those of kube-proxy do', async () => {
  await using rig = await webFromFiles()
  const { daemon, url } = rig
  await eventually(async () => expect(await whoAnswers(url)).toBe('blue'))
  await daemon.isUp()

  const healthz = await daemon.health('/healthz')
  expect(healthz.status).toBe(200)
  expect(Object.keys(JSON.parse(healthz.body) as object)).toEqual([
    'lastUpdated',
    'currentTime',
    'nodeEligible',
    'healthy',
    'status',
  ])
  expect(JSON.parse(healthz.body)).toMatchObject({ nodeEligible: true, healthy: true })
  const livez = await daemon.health('/livez')
  expect([livez.status, JSON.parse(livez.body)]).toMatchObject([200, { healthy: true }])
  expect(await daemon.detail()).toEqual({ state: 'live', files: [rig.folder.path] })

  const metrics = await daemon.metrics('/metrics')
  expect(metrics.status).toBe(200)
  expect(metrics.body).toMatch(/^kubeproxy_sync_proxy_rules_last_timestamp_seconds\{ip_family="IPv4"\} \d/m)
  expect(metrics.body).toMatch(/^fairlead_routes\{ip_family="IPv4"\} 1$/m)
  expect((await daemon.metrics('/proxyMode')).body).toBe('userspace')
  const configz = JSON.parse((await daemon.metrics('/configz')).body) as object
  expect(configz).toMatchObject({ 'kubeproxy.config.k8s.io': { mode: 'userspace', hostnameOverride: 'node1' } })
})

test.concurrent.each(['SIGTERM', 'SIGINT'] as const)(
  '%s ends the daemon with code 0, and its ports are free',
  async (signal) => {
    await using rig = await webFromFiles()
    const { daemon, url } = rig
    await eventually(async () => expect(await whoAnswers(url)).toBe('blue'))
    daemon.process.send(signal)
    expect(await daemon.process.ended()).toEqual({ code: 0, signal: null })
    for (const free of [url, ...daemon.ports.map((port) => `http://127.0.0.1:${port}`)])
      expect(await failureOf(free)).toBe('ECONNREFUSED')
  },
)

test.concurrent('SIGTERM does not wait for clients that stay connected', async () => {
  await using rig = await webFromFiles()
  const { daemon, folder, url } = rig
  const talker = createServer((socket) => socket.on('error', () => {}).write('talker'))
  talker.listen(0, '127.0.0.1').unref()
  await once(talker, 'listening')
  await folder.write('web-1.yaml', manifest(slice('web', (talker.address() as AddressInfo).port)))
  const client = await eventually(async () => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    const [greeting] = (await once(socket, 'data', { signal: AbortSignal.timeout(1000) })) as [Buffer]
    expect(greeting.toString()).toBe('talker')
    return socket
  })

  const failed = once(client, 'error')
  daemon.process.send('SIGTERM')
  expect(await daemon.process.ended()).toEqual({ code: 0, signal: null })
  expect(await failed).toMatchObject([{ code: 'ECONNRESET' }])
  talker.close()
})

/** A daemon that serves default/web from a folder, with the endpoint "blue"; "green" waits for its turn. */
async function webFromFiles() {
  const folder = await TemporaryFolder.make()
  const [blue, green] = [await startHttpBackend('blue'), await startHttpBackend('green')]
  const { port } = await freePorts('port')
  await folder.write('web.yaml', manifest(service('web', port, { clusterIP })))
  await folder.write('web-1.yaml', manifest(slice('web', blue.port)))
  const daemon = await DaemonProcess.start(`--objects=${folder.path}`)
  return {
    folder,
    blue,
    green,
    daemon,
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      for (const part of [daemon, blue, green, folder]) await part[Symbol.asyncDispose]()
    },
  }
}
