import { expect, test } from 'vitest'
import type { SourceStatus } from './cluster-source.ts'
import { shownSource } from './console-source.ts'

const from = 'the API server at https://127.0.0.1:6443'

function shown(isLive: boolean, kinds: Readonly<Record<string, SourceStatus>>, savedAtMs?: number) {
  const source = { from, isLive: () => isLive, status: () => new Map(Object.entries(kinds)) }
  return shownSource({ source, saved: { savedAtMs } })
}

const [first, second] = ['1970-01-01T00:00:01.000Z', '1970-01-01T00:00:02.000Z']

test('it is live while nothing keeps the server from sending', () => {
  const kinds = { Service: { lastContactMs: 1000 }, EndpointSlice: { lastContactMs: 2000 } }
  expect(shown(true, kinds)).toEqual({ from, state: 'live', lastContact: second })
  expect(shown(true, {})).toEqual({ from, state: 'live' })
})

test('it is lost once a watch that is needed fails, since it was last heard of', () => {
  const kinds = { Service: { lastContactMs: 1000, trouble: 'connection refused' }, Node: { lastContactMs: 2000 } }
  expect(shown(true, kinds)).toEqual({
    from,
    state: 'lost',
    since: first,
    lastContact: second,
    why: 'connection refused',
  })
})

test('what may not be read, and is not needed, is no loss', () => {
  const kinds = { Service: { lastContactMs: 1000 }, ServiceCIDR: { lastContactMs: undefined, trouble: 'forbidden' } }
  expect(shown(true, kinds)).toEqual({ from, state: 'live', lastContact: first })
})

test('before the first list it waits, or works with what was saved, and says why', () => {
  const kinds = { Service: { lastContactMs: undefined, trouble: 'connection refused' } }
  expect(shown(false, kinds)).toEqual({ from, state: 'waiting', why: 'connection refused' })
  expect(shown(false, {}, 2000)).toEqual({ from, state: 'saved', since: second })
})
