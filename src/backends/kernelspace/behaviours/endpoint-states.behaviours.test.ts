/** The rules themselves are those of the core; these show that they arrive. */
import { describe, expect, test } from 'vitest'
import { balanced, externalLocal, nodePort, pods, web } from '../testing/web-service.ts'
import type { Wishes } from '../testing/web-service.ts'
import { WindowsNode } from '../testing/windows-node.ts'

const outside = { ...balanced, externalIPs: ['198.51.100.9'] }

/** Which frontend leads where: `10.112.0.20:80 to 10.61.2.7`. */
async function served(wishes: Wishes, backends: readonly string[]): Promise<readonly string[]> {
  const node = new WindowsNode({ settings: { forwardHealthCheckVip: true } })
  node.hns.putEndpoint(node.networkId, { ips: ['10.61.1.1'], name: 'cbr0' })
  node.put(web(wishes), pods(backends))
  await node.sync()
  return node.balancers.map((line) => line.replace(/\/6 to (.*) at .*/, ' to $1'))
}

describe('endpoint states', () => {
  test('35: without an ingress IP, backends that terminate serve nowhere', async () => {
    expect(await served(nodePort, ['10.61.2.7 leaving'])).toEqual([])
  })

  test('36: with one, they serve at the cluster IP and there; the rest is closed', async () => {
    expect(await served(outside, ['10.61.2.7 leaving', '10.61.2.8 leaving'])).toEqual([
      '10.112.0.20:80 to 10.61.2.7 10.61.2.8',
      '203.0.113.40:80 to 10.61.2.7 10.61.2.8',
    ])
  })

  test('37: a ready backend serves alone', async () => {
    expect(await served(outside, ['10.61.2.7', '10.61.2.8 leaving'])).toEqual([
      '10.112.0.20:80 to 10.61.2.7',
      '*:31080 to 10.61.2.7',
      '198.51.100.9:80 to 10.61.2.7',
      '203.0.113.40:80 to 10.61.2.7',
      '203.0.113.40:10256 to cbr0',
    ])
  })

  test('38: unready backends serve when nothing else is there, but not at the node port', async () => {
    expect(await served(balanced, ['10.61.2.7 unready', '10.61.2.8 unready'])).toEqual([
      '10.112.0.20:80 to 10.61.2.7 10.61.2.8',
      '203.0.113.40:80 to 10.61.2.7 10.61.2.8',
    ])
  })

  test('39: a backend that is ready and does not serve is skipped', async () => {
    expect(await served(nodePort, ['10.61.2.7 published'])).toEqual([])
  })

  test('39 (Q14; kube-proxy uses the unready one as well): backends elsewhere are not judged by those here', async () => {
    expect(await served({ ...balanced, ...externalLocal }, ['10.61.2.7', '10.61.2.8 unready'])).toEqual([
      '10.112.0.20:80 to 10.61.2.7',
    ])
  })

  test('40 (Q7; kube-proxy leaves the old one): the node port is closed when all backends terminate', async () => {
    const node = new WindowsNode({ hns: { profile: '2025' } })
    node.put(web(balanced), pods(['10.61.2.7']))
    await node.sync()
    expect(node.balancerId(undefined, 31_080)).toBeDefined()
    node.put(pods(['10.61.2.7 leaving']))
    await node.sync()
    expect(node.balancers).toEqual([
      '10.112.0.20:80/6 to 10.61.2.7 at 8080',
      '203.0.113.40:80/6 to 10.61.2.7 at 8080 vipExternalIp',
    ])
  })
})
