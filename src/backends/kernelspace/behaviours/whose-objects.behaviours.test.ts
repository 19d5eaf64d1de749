import { describe, expect, test } from 'vitest'
import { pods, web } from '../testing/web-service.ts'
import { WindowsNode } from '../testing/windows-node.ts'

describe('whose objects', () => {
  test('a remote endpoint without an address is not ours, whatever changes', async () => {
    const node = new WindowsNode()
    const nameless = node.hns.putEndpoint(node.networkId, { ips: [], isRemote: true })
    node.put(web(), pods(['10.61.2.7']))
    expect(await node.sync()).toEqual([])
    await node.sync({ full: true })
    node.remove('Service', 'web')
    await node.sync()
    await node.sync({ full: true })
    expect(node.hns.endpoints.map(({ id }) => id)).toEqual([nameless])
  })
})
