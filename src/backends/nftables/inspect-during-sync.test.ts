import { expect, test, vi } from 'vitest'
import { testEndpoint, testRoute } from '../../core/testing/routes.ts'
import { ProxiedNode } from './testing/proxied-node.ts'

const never = new AbortController().signal
const endpoints = [testEndpoint('10.77.1.5', 8080), testEndpoint('10.77.2.6', 8080)]
const web = testRoute('shop/web', { clusterIP: '10.112.0.21', endpoints })
const fewer = testRoute('shop/web', { clusterIP: '10.112.0.21', endpoints: endpoints.slice(0, 1) })

test('a sync does not wait for somebody who looks, and what is told is of one state', async () => {
  const node = new ProxiedNode()
  await node.sync([web], { full: true })
  const elements = node.table.elements.bind(node.table)
  vi.spyOn(node.table, 'elements').mockImplementationOnce(async (...question) => {
    const found = await elements(...question)
    await node.sync([fewer])
    return found
  })
  const inspection = await node.backend.inspect(web.key, never)
  expect(inspection?.pieces.map(({ state }) => state)).toEqual(inspection?.pieces.map(() => 'as planned'))
  expect(inspection?.pieces.filter(({ endpoint }) => endpoint !== undefined)).toHaveLength(1)
})
