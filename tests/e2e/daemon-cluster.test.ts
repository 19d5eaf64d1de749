import { expect, test } from 'vitest'
import { startHttpBackend } from '../../src/cli/demo/sample-backends.ts'
import { freePorts } from '../cluster/testing/free-ports.ts'
import { failureOf, whoAnswers } from './testing/clients.ts'
import { Cluster } from './testing/cluster.ts'
import { DaemonProcess, nodeName } from './testing/daemon-process.ts'
import { eventually } from './testing/eventually.ts'
import { node, service, slice } from './testing/objects.ts'

test.concurrent('a Service is served from when it is created until it is deleted', async () => {
  const { port } = await freePorts('port')
  await using blue = await startHttpBackend('blue')
  await using cluster = await Cluster.start(node(nodeName))
  await using daemon = await DaemonProcess.start(`--kubeconfig=${cluster.kubeconfig}`)
  await daemon.isUp()

  const web = service('web', port)
  await cluster.create(web)
  await cluster.create(slice('web', blue.port))
  const url = `http://127.0.0.1:${port}`
  await eventually(async () => expect(await whoAnswers(url)).toBe('blue'))
  expect(await daemon.detail()).toMatchObject({ state: 'live' })
  await cluster.delete(web)
  await eventually(async () => expect(await failureOf(url)).toBe('ECONNREFUSED'))
})

test.concurrent('while the API server is away traffic goes on, and when it is back the daemon catches up', async () => {
  const { port } = await freePorts('port')
  await using blue = await startHttpBackend('blue')
  await using green = await startHttpBackend('green')
  const endpoints = slice('web', blue.port)
  await using cluster = await Cluster.start(node(nodeName), service('web', port), endpoints)
  await using daemon = await DaemonProcess.start(`--kubeconfig=${cluster.kubeconfig}`)
  const url = `http://127.0.0.1:${port}`
  await eventually(async () => expect(await whoAnswers(url)).toBe('blue'))

  await cluster.goAway()
  await daemon.process.says('ECONNREFUSED')
  expect(await whoAnswers(url)).toBe('blue')
  expect((await daemon.health('/healthz')).status).toBe(200)

  await cluster.changeUnseen(() => cluster.merge(endpoints, { ports: [{ name: 'http', port: green.port }] }))
  expect(await whoAnswers(url)).toBe('blue')
  await cluster.comeBack()
  await eventually(async () => expect(await whoAnswers(url)).toBe('green'))
})

test.concurrent('the daemon waits for its API server when that comes up later', async () => {
  const { port } = await freePorts('port')
  await using blue = await startHttpBackend('blue')
  await using cluster = await Cluster.start(node(nodeName), service('web', port), slice('web', blue.port))
  await cluster.goAway()
  await using daemon = await DaemonProcess.start(`--kubeconfig=${cluster.kubeconfig}`)
  await daemon.process.says('ECONNREFUSED')
  await cluster.comeBack()
  await eventually(async () => expect(await whoAnswers(`http://127.0.0.1:${port}`)).toBe('blue'))
})

test.concurrent('the start is an Event about the Node', async () => {
  await using cluster = await Cluster.start(node(nodeName))
  await using _daemon = await DaemonProcess.start(`--kubeconfig=${cluster.kubeconfig}`)
  await eventually(async () => {
    const events = await cluster.events()
    expect(events).toMatchObject([
      { reason: 'Starting', type: 'Normal', regarding: { kind: 'Node', name: nodeName }, action: 'StartKubeProxy' },
    ])
  })
})

test.concurrent('a node that the autoscaler is about to delete gets no new traffic, but is not restarted', async () => {
  const thisNode = node(nodeName)
  await using cluster = await Cluster.start(thisNode)
  await using daemon = await DaemonProcess.start(`--kubeconfig=${cluster.kubeconfig}`)
  await eventually(async () => expect((await daemon.health('/healthz')).status).toBe(200))

  const taint = { key: 'ToBeDeletedByClusterAutoscaler', value: '1', effect: 'NoSchedule' }
  await cluster.merge(thisNode, { spec: { taints: [taint] } })
  await eventually(async () => expect((await daemon.health('/healthz')).status).toBe(503))
  expect(JSON.parse((await daemon.health('/healthz')).body)).toMatchObject({ nodeEligible: false, healthy: true })
  expect((await daemon.health('/livez')).status).toBe(200)

  await cluster.merge(thisNode, { spec: { taints: null } })
  await eventually(async () => expect((await daemon.health('/healthz')).status).toBe(200))
})
