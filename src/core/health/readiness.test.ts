import { expect, test } from 'vitest'
import type { Family } from '../../net/ip.ts'
import type { PendingSync } from '../sync/route-source.ts'
import { Readiness } from './readiness.ts'

const signal = new AbortController().signal
const synced = (family: Family) => ({ view: { family } }) as PendingSync

test('it is ready once every family was programmed, and names what is missing until then', async () => {
  let hasObjects = false
  const readiness = new Readiness({ families: ['ipv4', 'ipv6'], hasObjects: () => hasObjects, isLive: () => true })
  expect(readiness.readyz({ isVerbose: false })).toEqual({
    status: 503,
    body: `[-]objects failed: Services and EndpointSlices have not been listed yet
[-]first-sync-ipv4 failed: nothing has been programmed yet
[-]first-sync-ipv6 failed: nothing has been programmed yet
readyz check failed
`,
  })
  hasObjects = true
  const hook = readiness.afterSync()
  await hook.run(synced('ipv4'), signal)
  await hook.run(synced('ipv4'), signal)
  expect(readiness.readyz({ isVerbose: true })).toEqual({
    status: 503,
    body: `[+]objects ok
[+]first-sync-ipv4 ok
[-]first-sync-ipv6 failed: nothing has been programmed yet
readyz check failed
`,
  })
  expect(readiness.ready.aborted).toBe(false)
  await hook.run(synced('ipv6'), signal)
  expect(readiness.ready.aborted).toBe(true)
  expect(readiness.readyz({ isVerbose: false })).toEqual({ status: 200, body: 'ok' })
  expect(readiness.readyz({ isVerbose: true }).body).toMatch(/readyz check passed\n$/)
})

test('what was programmed from saved state is ready, and live only after a sync that began with live objects', async () => {
  let isLive = false
  const readiness = new Readiness({ families: ['ipv4', 'ipv6'], hasObjects: () => true, isLive: () => isLive })
  const hook = readiness.afterSync()
  readiness.begins('ipv4')
  readiness.begins('ipv6')
  await hook.run(synced('ipv6'), signal)
  // The lists arrive while this one still programs what was saved.
  isLive = true
  await hook.run(synced('ipv4'), signal)
  expect([readiness.ready.aborted, readiness.live.aborted]).toEqual([true, false])
  for (const family of ['ipv4', 'ipv6'] as const) {
    expect(readiness.live.aborted).toBe(false)
    readiness.begins(family)
    await hook.run(synced(family), signal)
  }
  expect(readiness.live.aborted).toBe(true)
})
