import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { hresult } from '../../dataplane/hcn/hresult.ts'
import { balanced, nodePort, pods, web } from './testing/web-service.ts'
import { WindowsNode } from './testing/windows-node.ts'
import type { WindowsNodeOptions } from './testing/windows-node.ts'

/** Everybody is to be served again so soon. */
const soonMs = 10_000

/** A node whose watch asks for a full sync, as the runner of syncs gives it. */
async function watched(options: WindowsNodeOptions = {}) {
  const node = new WindowsNode(options)
  node.pod('10.61.1.5')
  node.put(web(nodePort), pods(['10.61.1.5', '10.61.2.7']))
  await node.sync()
  const found: string[] = []
  const stop = new AbortController()
  const watching = node.watch((what) => found.push(what), stop.signal)
  const repaired = async (ms = soonMs) => {
    const [first] = await syncedFor(ms)
    return first
  }
  /** Returns what was found; each finding was answered by one sync. */
  const syncedFor = async (ms: number) => {
    const all: string[] = []
    const end = node.clock.monotonic() + ms
    while (node.clock.monotonic() < end) {
      await node.clock.advance(500)
      const news = found.splice(0)
      all.push(...news)
      if (news.length === 0) continue
      const synced = new AbortController()
      const done = () => synced.abort()
      const syncing = node.sync({ full: true }).then(done, done)
      // HNS may take its time.
      while (!synced.signal.aborted) await node.clock.advance(100)
      await syncing
    }
    return all
  }
  await repaired()
  node.calls()
  return {
    node,
    repaired,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await watching
    },
  }
}

const clusterIP = '10.112.0.20:80/6 to 10.61.1.5 10.61.2.7 at 8080'
const atNodePort = '*:31080/6 to 10.61.1.5 10.61.2.7 at 8080 localRoutedVip vipExternalIp'

describe('the watch of HNS', () => {
  test('asks three questions, and finds nothing where nothing happened', async () => {
    await using it = await watched()
    expect(await it.repaired()).toBeUndefined()
    const calls = new Set(it.node.calls())
    expect(calls).toEqual(new Set(['enumerateNetworks', 'queryNetwork', 'hnsCall', 'enumerateEndpoints']))
  })

  test('finds a load balancer that is gone, changed or degraded', async () => {
    await using it = await watched()
    const { hns } = it.node
    const id = () => it.node.balancerId('10.112.0.20') ?? ''
    hns.remove('LoadBalancer', id())
    expect(await it.repaired()).toBe('the load balancer of ipv4 6 10.112.0.20 80 is gone')
    hns.changeLoadBalancer(id(), { endpoints: [it.node.endpointId('10.61.1.5') ?? ''] })
    expect(await it.repaired()).toBe('somebody changed the load balancer of ipv4 6 10.112.0.20 80')
    hns.changeLoadBalancer(id(), { isDegraded: true })
    expect(await it.repaired()).toBe('the load balancer of ipv4 6 10.112.0.20 80 is degraded')
    expect(it.node.balancers.toSorted()).toEqual([atNodePort, clusterIP].toSorted())
  })

  test('finds a remote endpoint that is gone', async () => {
    await using it = await watched()
    it.node.hns.remove('Endpoint', it.node.endpointId('10.61.2.7') ?? '')
    expect(await it.repaired()).toBe('the endpoint of 10.61.2.7 is gone')
    expect(it.node.balancers.toSorted()).toEqual([atNodePort, clusterIP].toSorted())
  })

  test.each(['pod-net', 'host-net'])('finds what happens to the endpoint of the host, in %s', async (name) => {
    await using it = await watched({ settings: { forwardHealthCheckVip: true } })
    const { hns } = it.node
    it.node.put(web(balanced))
    await it.node.sync()
    const network = name === 'pod-net' ? it.node.networkId : hns.putNetwork({ name })
    const putRoot = () => hns.putEndpoint(network, { ips: ['10.61.1.1'], name: 'cbr0' })
    const healthCheck = '203.0.113.40:10256/6 to cbr0 at 10256'
    putRoot()
    expect(await it.repaired()).toBe('the endpoint cbr0 of the host is there now')
    expect(it.node.balancers).toContain(healthCheck)
    hns.remove('Endpoint', it.node.endpointId('10.61.1.1') ?? '')
    putRoot()
    expect(await it.repaired()).toBe('the endpoint cbr0 of the host is another one now')
    expect(it.node.balancers).toContain(healthCheck)
    hns.remove('Endpoint', it.node.endpointId('10.61.1.1') ?? '')
    expect(await it.repaired()).toBe('the endpoint cbr0 of the host is gone')
    expect(it.node.balancers.filter((line) => line.includes('10256'))).toEqual([])
    expect(await it.repaired()).toBeUndefined()
  })

  test('finds the endpoint of the source VIP gone, and makes it again', async () => {
    await using it = await watched({ type: 'Overlay' })
    it.node.hns.remove('Endpoint', it.node.endpointId('10.61.1.2') ?? '')
    expect(await it.repaired()).toBe('the endpoint of 10.61.1.2 is gone')
    expect(it.node.endpointId('10.61.1.2')).toBeDefined()
  })

  test('finds the endpoint that a pod of this node was waiting for, and ignores other pods', async () => {
    await using it = await watched()
    it.node.put(pods(['10.61.1.5', '10.61.1.6']))
    await it.node.sync()
    it.node.pod('10.61.1.99')
    expect(await it.repaired()).toBeUndefined()
    it.node.pod('10.61.1.6')
    expect(await it.repaired()).toBe('10.61.1.6 has got another endpoint')
    expect(it.node.balancers).toContain('10.112.0.20:80/6 to 10.61.1.5 10.61.1.6 at 8080')
  })

  test('leaves load balancers of others alone', async () => {
    await using it = await watched()
    const [balancer] = it.node.hns.loadBalancers
    if (balancer === undefined) throw new Error('there is none')
    it.node.hns.putLoadBalancer({ ...balancer, vip: '10.112.0.99' })
    expect(await it.repaired()).toBeUndefined()
    expect(it.node.writes()).toEqual([])
  })

  test.each([[[]], [['LoadBalancer']], [['Endpoint']], [['LoadBalancer', 'Endpoint']]] as const)(
    'repairs what an HNS restores that was restarted, with other ids of %j',
    async (renewed) => {
      await using it = await watched()
      it.node.hns.stop()
      await it.repaired(60_000)
      it.node.hns.start(renewed)
      await it.repaired()
      expect(it.node.balancers.toSorted()).toEqual([atNodePort, clusterIP].toSorted())
      expect(it.node.remoteIps).toEqual(['10.61.2.7'])
      it.node.calls()
      expect(await it.repaired()).toBeUndefined()
    },
  )

  test('repairs what an HNS lost that was away for more than a minute, and whose syncs failed', async () => {
    await using it = await watched()
    it.node.hns.stop()
    it.node.put(pods(['10.61.1.5', '10.61.2.7', '10.61.2.8']))
    await expect(it.node.sync()).rejects.toThrow(/HNS|RPC/)
    await it.repaired(70_000)
    for (const { id } of it.node.hns.loadBalancers) it.node.hns.remove('LoadBalancer', id)
    it.node.hns.start()
    await it.repaired()
    expect(it.node.balancers[0]).toBe('10.112.0.20:80/6 to 10.61.1.5 10.61.2.7 10.61.2.8 at 8080')
  })

  test.each([20_000, 35_000])('repairs what an HNS lost that did not answer for %d ms', async (ms) => {
    await using it = await watched()
    const answers = new AbortController()
    it.node.driver.fault({ until: once(answers.signal, 'abort') })
    await it.repaired(ms)
    answers.abort()
    await it.node.clock.advance(0)
    it.node.hns.remove('LoadBalancer', it.node.balancerId('10.112.0.20') ?? '')
    await it.repaired()
    expect(it.node.balancers.toSorted()).toEqual([atNodePort, clusterIP].toSorted())
  })

  test('is as quick where HNS is slow', async () => {
    await using it = await watched()
    const { driver, clock } = it.node
    const hnsCall = driver.hnsCall.bind(driver)
    driver.hnsCall = async (...args) => {
      await clock.sleep(1_000, new AbortController().signal)
      return hnsCall(...args)
    }
    await it.repaired(30_000)
    it.node.hns.remove('LoadBalancer', it.node.balancerId('10.112.0.20') ?? '')
    expect(await it.repaired()).toBe('the load balancer of ipv4 6 10.112.0.20 80 is gone')
    expect(it.node.balancers.toSorted()).toEqual([atNodePort, clusterIP].toSorted())
  })

  test('repairs what is left when the CNI starts anew', async () => {
    await using it = await watched()
    it.node.hns.removeNetwork(it.node.networkId)
    expect(await it.repaired(5_000)).toBe('the network pod-net is gone')
    expect(it.node.balancers).toEqual([])
    const network = it.node.putNetwork()
    it.node.hns.putEndpoint(network, { ips: ['10.61.1.5'] })
    await it.repaired()
    expect(it.node.balancers).toEqual([clusterIP, atNodePort])
  })

  test('learns of nodes that come to an overlay network', async () => {
    await using it = await watched({ type: 'Overlay' })
    it.node.put(pods(['10.61.3.7']))
    await it.node.sync()
    expect(it.node.balancers[0]).toContain('from 172.30.7.11')
    const joined = { prefix: '10.61.3.0/24', providerAddress: '172.30.7.13', isolationId: 4096, routerMac: '' }
    it.node.hns.changeNetwork(it.node.networkId, { remoteSubnets: [joined] })
    expect(await it.repaired()).toBe('nodes came to the network pod-net, or left it')
    expect(it.node.balancers[0]).toContain('from 10.61.1.2')
    const endpoint = it.node.hns.endpoint(it.node.endpointId('10.61.3.7') ?? '')
    expect(endpoint.providerAddress).toBe('172.30.7.13')
  })

  test('tries again where an endpoint that leads to the wrong node cannot be made anew', async () => {
    await using it = await watched({ type: 'Overlay' })
    const { node } = it
    const moved = { prefix: '10.61.2.0/24', providerAddress: '172.30.7.13', isolationId: 4096, routerMac: '' }
    node.hns.changeNetwork(node.networkId, { remoteSubnets: [moved] })
    const works = node.driver.fault({ operation: 'removeEndpoint', times: 2, hresult: hresult.switchPortNotFound })
    await node.sync({ full: true })
    expect(await it.repaired(20_000)).toBe('the endpoint of 10.61.2.7 leads to another node')
    works()
    expect(node.hns.endpoint(node.endpointId('10.61.2.7') ?? '').providerAddress).toBe('172.30.7.13')
    expect(await it.repaired()).toBeUndefined()
  })

  test('is not fooled by an HNS whose list tells less than it should', async () => {
    const settings = { enableDsr: true }
    await using it = await watched({ settings })
    // Somebody, or this HNS itself, says nothing of direct server return.
    const { driver } = it.node
    const hnsCall = driver.hnsCall.bind(driver)
    driver.hnsCall = async (...args) => (await hnsCall(...args)).replaceAll(',"IsDSR":true', '')
    expect(await it.repaired()).toBe('somebody changed the load balancer of ipv4 6 10.112.0.20 80')
    it.node.calls()
    expect(await it.repaired(120_000)).toBeUndefined()
    expect(it.node.writes()).toEqual([])
    it.node.hns.remove('LoadBalancer', it.node.balancerId('10.112.0.20') ?? '')
    expect(await it.repaired()).toBe('the load balancer of ipv4 6 10.112.0.20 80 is gone')
  })
})
