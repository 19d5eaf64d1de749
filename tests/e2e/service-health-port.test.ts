import { expect, test } from 'vitest'
import { freePorts } from '../cluster/testing/free-ports.ts'
import { failureOf, get } from './testing/clients.ts'
import { Cluster } from './testing/cluster.ts'
import { DaemonProcess, nodeName } from './testing/daemon-process.ts'
import { eventually } from './testing/eventually.ts'
import { node, service, slice } from './testing/objects.ts'

test('the health check node port tells load balancers how many endpoints this node has, while there is the Service', async () => {
  const { port, target } = await freePorts('port', 'target')
  const shop = service('shop', port, { type: 'LoadBalancer', externalTrafficPolicy: 'Local' })
  const local = slice('shop', target, { nodeName })
  await using cluster = await Cluster.start(node(nodeName), local)
  const { spec } = await cluster.create(shop)
  await using _daemon = await DaemonProcess.start(`--kubeconfig=${cluster.kubeconfig}`)
  const url = `http://127.0.0.1:${spec.healthCheckNodePort}`
  const answer = async () => {
    const { status, headers, body } = await get(url)
    return { status, weight: headers['x-load-balancing-endpoint-weight'], body: JSON.parse(body) as unknown }
  }

  await eventually(async () => expect((await answer()).status).toBe(200))
  const about = { service: { namespace: 'default', name: 'shop' }, serviceProxyHealthy: true }
  expect(await answer()).toEqual({ status: 200, weight: '1', body: { ...about, localEndpoints: 1 } })

  await cluster.merge(local, { endpoints: [{ addresses: ['127.0.0.1'], nodeName: 'elsewhere' }] })
  await eventually(async () =>
    expect(await answer()).toEqual({ status: 503, weight: '0', body: { ...about, localEndpoints: 0 } }),
  )
  await cluster.delete(shop)
  await eventually(async () => expect(await failureOf(url)).toBe('ECONNREFUSED'))
})
