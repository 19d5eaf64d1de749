import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startHttpBackend } from '../../src/cli/demo/sample-backends.ts'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { freePorts } from '../cluster/testing/free-ports.ts'
import { failureOf, whoAnswers } from './testing/clients.ts'
import { Cluster } from './testing/cluster.ts'
import { DaemonProcess, nodeName } from './testing/daemon-process.ts'
import { eventually } from './testing/eventually.ts'
import { node, service, slice } from './testing/objects.ts'

test.concurrent(
  'a node that crashes while the API server is away serves what it knew, and reconciles later',
  async () => {
    await using rig = await webWithSavedState()
    const { cluster, url, green, endpoints, args } = rig
    await cluster.goAway()
    await cluster.changeUnseen(() => cluster.merge(endpoints, { ports: [{ name: 'http', port: green.port }] }))

    await using daemon = await DaemonProcess.start(...args)
    await eventually(async () => expect(await whoAnswers(url)).toBe('blue'))
    await daemon.process.says('"starting from the saved state until the API server answers"')
    expect(await daemon.detail()).toMatchObject({ state: 'saved', savedAt: expect.stringMatching(/^20\d\d-.*Z$/) })
    expect((await daemon.health('/healthz')).status).toBe(200)

    await cluster.comeBack()
    await eventually(async () => expect(await whoAnswers(url)).toBe('green'))
    await eventually(async () => expect(await daemon.detail()).toMatchObject({ state: 'live' }))
  },
)

test.concurrent('what was deleted while the node was down goes when the API server is back, not before', async () => {
  await using rig = await webWithSavedState()
  const { cluster, url, web, args } = rig
  await cluster.goAway()
  await cluster.changeUnseen(() => cluster.delete(web))

  await using daemon = await DaemonProcess.start(...args)
  await eventually(async () => expect(await whoAnswers(url)).toBe('blue'))
  await cluster.comeBack()
  await eventually(async () => expect(await failureOf(url)).toBe('ECONNREFUSED'))
  expect(daemon.process.isRunning).toBe(true)
})

test.concurrent('a damaged state is not used, and the log says why', async () => {
  await using rig = await webWithSavedState()
  const { cluster, url, stateFile, args } = rig
  const state = await readFile(stateFile, 'utf8')
  await writeFile(stateFile, state.replace(/"port":\d+/, '"port":1'))
  await cluster.goAway()

  await using daemon = await DaemonProcess.start(...args)
  await daemon.process.says(/"saved state is not used" reason=".*last-state\.jsonl/)
  expect(await failureOf(url)).toBe('ECONNREFUSED')
  await cluster.comeBack()
  await eventually(async () => expect(await whoAnswers(url)).toBe('blue'))
})

/** A cluster with default/web at the endpoint "blue", and the state that a daemon kept of it before it was killed. */
async function webWithSavedState() {
  const state = await TemporaryFolder.make()
  const [blue, green] = [await startHttpBackend('blue'), await startHttpBackend('green')]
  const { port } = await freePorts('port')
  const web = service('web', port)
  const endpoints = slice('web', blue.port)
  const cluster = await Cluster.start(node(nodeName), web, endpoints)
  const args = [`--kubeconfig=${cluster.kubeconfig}`, `--state-dir=${state.path}`]
  {
    await using daemon = await DaemonProcess.start(...args)
    await eventually(async () => expect(await readdir(state.path)).toEqual(['last-state.jsonl']))
    daemon.process.send('SIGKILL')
    await daemon.process.ended()
  }
  return {
    cluster,
    web,
    endpoints,
    green,
    args,
    stateFile: join(state.path, 'last-state.jsonl'),
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      for (const part of [cluster, blue, green, state]) await part[Symbol.asyncDispose]()
    },
  }
}
