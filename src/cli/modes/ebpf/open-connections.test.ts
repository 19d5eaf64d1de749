import { expect, test } from 'vitest'
import { addressPlans, viewOf } from '../../../core/testing/random-cluster.ts'
import { testRoute } from '../../../core/testing/routes.ts'
import { ofPacketsAlone } from './open-connections.ts'

const [web, sticky] = [testRoute('shop/web', {}), testRoute('shop/sticky', {})]
const view = viewOf(addressPlans.ipv4, new Map([web, sticky].map((route) => [route.key, route])), [])
const never = new AbortController().signal

test('open connections are told of Services that packets alone serve: of others only some would be seen', async () => {
  const note = 'bytes: net.netfilter.nf_conntrack_acct is off'
  const seen = new Map([web, sticky].map(({ key }) => [key, { open: 3 }]))
  const reader = { read: async () => seen, note }
  const told = ofPacketsAlone(reader, { isServedAtSockets: (key) => key === web.key })
  expect(await told.read(view, never)).toEqual(new Map([[sticky.key, { open: 3 }]]))
  expect(told.note).toBe(`open connections: known only of Services that are left to nftables; ${note}`)
})
