import { expect, test } from 'vitest'
import { slice } from '../../core/testing/objects.ts'
import { balanced, pods, web } from './testing/web-service.ts'
import { WindowsNode } from './testing/windows-node.ts'

const ranges = { ...balanced, loadBalancerSourceRanges: ['192.0.2.0/24'] }

function told({ logged }: WindowsNode): number {
  return logged.at('warn').filter(({ message }) => message === 'HNS cannot do what a Service asks for').length
}

test('limits are told once, whether something is written or not', async () => {
  const node = new WindowsNode()
  node.put(web(ranges), pods(['10.61.2.7']), slice('demo/web-2', 'web', ['10.61.2.8'], [9090]))
  await node.sync()
  expect(told(node)).toBe(1)
  await node.sync({ full: true })
  node.put(web({ ...ranges, loadBalancerSourceRanges: ['198.51.100.0/24'] }))
  await node.sync()
  await node.sync({ full: true })
  expect(told(node)).toBe(1)
})

test('another limit is told', async () => {
  const node = new WindowsNode()
  node.put(web(ranges), pods(['10.61.2.7']))
  await node.sync()
  expect(told(node)).toBe(1)
  node.put(slice('demo/web-2', 'web', ['10.61.2.8'], [9090]))
  await node.sync()
  expect(told(node)).toBe(2)
})
