import { describe, expect, test } from 'vitest'
import { featuresOf } from '../../../dataplane/hcn/features.ts'
import { hresult } from '../../../dataplane/hcn/hresult.ts'
import { externalLocal, nodePort, pods, web } from '../testing/web-service.ts'
import { WindowsNode } from '../testing/windows-node.ts'
import type { WindowsNodeOptions } from '../testing/windows-node.ts'

/** A node whose HNS changes in place, as far as it says. */
async function programmed(options: WindowsNodeOptions): Promise<WindowsNode> {
  const node = new WindowsNode(options)
  node.pod('10.61.1.5')
  node.put(web(nodePort), pods(['10.61.1.5']))
  expect(await node.sync()).toEqual([])
  node.calls()
  return node
}

const keepsFlags = { hns: { profile: '2025', changeInPlace: 'endpoints and ports' } } as const
const replaced = ['modifyLoadBalancer', 'removeLoadBalancer', 'createLoadBalancer']

describe('a change in place that HNS takes and does not make', () => {
  test.each([
    ['affinity', { sessionAffinity: 'ClientIP' }, '10.112.0.20:80/6 to 10.61.1.5 at 8080 sticky'],
    ['flags', externalLocal, '*:31080/6 to 10.61.1.5 at 8080 dsr localRoutedVip vipExternalIp'],
  ])('of %s is made by replacing the load balancer', async (_, wish, line) => {
    const node = await programmed(keepsFlags)
    node.put(web({ ...nodePort, ...wish }))
    expect(await node.sync()).toEqual([])
    expect(node.balancers).toContain(line)
    expect(node.writes().slice(0, 3)).toEqual(replaced)
    // What is held is what HNS has.
    await node.sync({ full: true })
    node.restart()
    await node.sync()
    expect(node.writes()).toEqual([])
  })

  test('is said once', async () => {
    const node = await programmed(keepsFlags)
    for (const wish of [{ sessionAffinity: 'ClientIP' }, {}, externalLocal]) {
      node.put(web({ ...nodePort, ...wish }))
      await node.sync()
    }
    expect(node.logged.at('warn').map(({ message }) => message)).toEqual([
      'HNS took a change of a load balancer, and did not make it; such ones are deleted and made anew',
    ])
  })

  test('is no reason to replace where it was made', async () => {
    const node = await programmed(keepsFlags)
    node.put(pods(['10.61.1.5', '10.61.2.7']))
    expect(await node.sync()).toEqual([])
    expect(node.writes()).toEqual(['createEndpoint', 'modifyLoadBalancer', 'modifyLoadBalancer'])
  })

  test('leaves what HNS has in part, if it cannot be deleted, and that is known', async () => {
    const node = await programmed(keepsFlags)
    const works = node.driver.fault({
      operation: 'removeLoadBalancer',
      times: Infinity,
      hresult: hresult.hasReferences,
    })
    node.put(web({ ...nodePort, sessionAffinity: 'ClientIP' }), pods(['10.61.1.5', '10.61.2.7']))
    const retry = (await node.sync()).map(({ key }) => key)
    expect(retry).toEqual(['demo/web/TCP'])
    expect(node.balancers).toContain('10.112.0.20:80/6 to 10.61.1.5 10.61.2.7 at 8080')
    works()
    node.put(web(nodePort), pods(['10.61.1.5']))
    expect(await node.sync({ retry })).toEqual([])
    expect(node.balancers).toContain('10.112.0.20:80/6 to 10.61.1.5 at 8080')
  })

  test('is noticed also where HNS changes nothing at all', async () => {
    const version = { major: 15, minor: 4 }
    const node = await programmed({
      hns: { version },
      settings: { features: { ...featuresOf(version), modifyLoadBalancer: true } },
    })
    node.put(pods(['10.61.1.5', '10.61.2.7']))
    expect(await node.sync()).toEqual([])
    expect(node.balancers).toContain('10.112.0.20:80/6 to 10.61.1.5 10.61.2.7 at 8080')
    expect(node.writes()).toEqual(['createEndpoint', ...replaced, ...replaced])
  })
})
