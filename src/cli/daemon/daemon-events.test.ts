import { expect, test } from 'vitest'
import type { ObjectKey } from '../../api/records.ts'
import { noticeEvent } from './daemon-events.ts'

const web = 'shop/web' as ObjectKey

test('what every node sees is one Event for the whole cluster', () => {
  expect(noticeEvent(web, 'AddressInUse', 'external IP 10.96.0.1:443/TCP is not served', 'one')).toEqual({
    regarding: { apiVersion: 'v1', kind: 'Service', namespace: 'shop', name: 'web' },
    type: 'Warning',
    reason: 'AddressInUse',
    action: 'Program',
    note: 'external IP 10.96.0.1:443/TCP is not served',
    isSameOnEveryNode: true,
  })
})

test.each(['UnreachableEndpoint', 'NodeAddress'] as const)(
  'each node has an %s of its own, with its name',
  (reason) => {
    const event = noticeEvent(web, reason, 'this node cannot', 'one')
    expect(event.isSameOnEveryNode).toBeUndefined()
    expect(event.note).toBe('node one: this node cannot')
  },
)
