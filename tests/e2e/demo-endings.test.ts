import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { ApiClient, fetchRequests } from '../../src/embedded/testing/api-client.ts'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { freePorts } from '../cluster/testing/free-ports.ts'
import { failureOf, whoTakesTurns } from './testing/clients.ts'
import { DemoProcess } from './testing/demo-process.ts'
import { eventually } from './testing/eventually.ts'
import { runFairlead } from './testing/fairlead-process.ts'
import { service, slice } from './testing/objects.ts'

/** Its own port is not for users, so it has one that no other demo would take. */
const anyPort = 'default/kubernetes:https'
const replicas = ['web-1', 'web-2', 'web-3']

test.concurrent('ports that are in use: the demo takes others and says so', async () => {
  await using folder = await TemporaryFolder.make()
  await using api = await holdPort(0)
  // Whoever has it, it is in use now.
  await using _web = await holdPort(8080)
  await using demo = await DemoProcess.start(folder, `--api-port=${api.port}`)

  const { url, port } = demo.service('shop/web:http')
  expect(port).not.toBe(8080)
  await demo.process.says(`Port 8080 of shop/web:http is in use; it listens on ${port} instead.\n`)
  expect(await whoTakesTurns(url, 6)).toEqual(replicas)

  const apiUrl = await demo.apiUrl()
  expect(apiUrl).not.toContain(`:${api.port}`)
  await demo.process.says(`Port ${api.port} is in use; the API server listens at ${apiUrl} instead.\n`)
  expect((await new ApiClient(fetchRequests(apiUrl)).expect(200, 'GET', '/api/v1/services')).kind).toBe('ServiceList')
})

test.concurrent.each([
  ['Ctrl-C', 'SIGINT'],
  ['SIGTERM', 'SIGTERM'],
  ['a closed terminal', 'SIGHUP'],
] as const)('%s ends the demo with code 0; its ports are free and its folder is gone', async (_what, signal) => {
  await using folder = await TemporaryFolder.make()
  await using demo = await DemoProcess.start(folder, '--api-port=0')
  const { url } = demo.service(anyPort)
  const apiUrl = await demo.apiUrl()
  expect(await demo.temporaryFolders()).toHaveLength(1)

  demo.process.send(signal)
  expect(await demo.process.ended()).toEqual({ code: 0, signal: null })
  expect(demo.process.stdout).toMatch(/\nStopped\.\n$/)
  expect(demo.process.stderr).toBe('')
  expect([await failureOf(url), await failureOf(apiUrl)]).toEqual(['ECONNREFUSED', 'ECONNREFUSED'])
  expect(await demo.temporaryFolders()).toEqual([])
})

test.concurrent('a second Ctrl-C does not wait for those who are slow', async () => {
  await using folder = await TemporaryFolder.make()
  await using demo = await DemoProcess.start(folder)
  // A client in the middle of a request: an orderly end gives it a moment.
  const { hostname, port } = new URL(await demo.apiUrl())
  const client = connect(Number(port), hostname).on('error', () => {})
  client.write('POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n')
  const [start] = (await once(client, 'data')) as [Buffer]
  expect(start.toString()).toMatch(/^HTTP\/1.1 100 Continue/)

  demo.process.send('SIGINT')
  const { url } = demo.service(anyPort)
  await eventually(async () => expect(await failureOf(url)).toBe('ECONNREFUSED'))
  demo.process.send('SIGINT')
  expect(await demo.process.ended()).toEqual({ code: 130, signal: null })
  expect(await demo.temporaryFolders()).toEqual([])
  client.destroy()
})

test.concurrent.each(['SIGINT', 'SIGKILL'] as const)('with --data-dir objects outlive a %s', async (signal) => {
  await using folder = await TemporaryFolder.make()
  const ports = await freePorts('mine', 'target')
  const args = [`--data-dir=${folder.path}/data`]
  const mine = service('mine', ports.mine)
  {
    await using demo = await DemoProcess.start(folder, ...args)
    expect(demo.kubeconfig).toBe(`${folder.path}/data/kubeconfig`)
    expect(demo.manifests).toBe(`${folder.path}/data/shop.yaml`)
    expect(await demo.temporaryFolders()).toEqual([])
    const client = new ApiClient(fetchRequests(await demo.apiUrl()))
    await client.expect(201, 'POST', '/api/v1/namespaces/default/services', mine)
    const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
    await client.expect(201, 'POST', slices, slice('mine', ports.target))
    demo.process.send(signal)
    await demo.process.ended()
  }
  await using again = await DemoProcess.start(folder, ...args)
  expect(again.service('default/mine:http')).toMatchObject({
    port: ports.mine,
    endpoints: `127.0.0.1:${ports.target}`,
  })
  // The sample application has new ports; nothing of the old ones is left.
  expect(await whoTakesTurns(again.service('shop/web:http').url, 6)).toEqual(replicas)
})

test.concurrent('--kubeconfig-out chooses the file, but never one that holds something else', async () => {
  await using folder = await TemporaryFolder.make()
  const out = `--kubeconfig-out=${folder.path}/mine`
  for (const _round of ['a new file', 'that of the round before']) {
    await using demo = await DemoProcess.start(folder, '--api-port=0', out)
    expect(demo.kubeconfig).toBe(`${folder.path}/mine`)
    await new ApiClient(fetchRequests(await demo.apiUrl())).expect(200, 'GET', '/api/v1/services')
  }
  await folder.write('mine', 'clusters: [{name: production, cluster: {server: "https://10.0.0.1"}}]\n')
  expect(await runFairlead(['demo', '--api-port=0', out])).toMatchObject({
    code: 1,
    stdout: '',
    stderr: `Error: ${out} already holds something else: name a file that does not exist yet\n`,
  })
})

test.concurrent('a folder for temporary files that cannot be used is one clear sentence', async () => {
  const env = { TMPDIR: '/dev/null/missing' }
  const { code, stderr } = await runFairlead(['demo', '--api-port=0'], { env })
  expect(code).toBe(1)
  expect(stderr).toMatch(/^Error: cannot make a folder in \/dev\/null\/missing, .*; set TMPDIR .*\n$/)
})

async function holdPort(port: number): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer((socket) => socket.destroy())
  server.listen(port, '127.0.0.1')
  // It rejects if somebody else has the port.
  const isMine = await once(server, 'listening').then(
    () => true,
    () => false,
  )
  if (!isMine) return { port, [Symbol.asyncDispose]: () => Promise.resolve() }
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.close()
      await once(server, 'close')
    },
  }
}
