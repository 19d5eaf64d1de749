import { expect, test } from 'vitest'
import { addTraffic, withoutOpen } from './traffic.ts'

test('what several parts have carried is added up, endpoint by endpoint and reason by reason', () => {
  const a = {
    connections: 2,
    open: 1,
    lastUsedMs: 5,
    turnedAway: { 'no-endpoint': 1 },
    endpoints: new Map([['10.0.0.1:80', { connections: 2, open: 1 }]]),
  }
  const b = {
    connections: 3,
    bytesIn: 10,
    lastUsedMs: 4,
    turnedAway: { 'no-endpoint': 1, overload: 2 },
    endpoints: new Map([
      ['10.0.0.1:80', { connections: 1, lastUsedMs: 4 }],
      ['10.0.0.2:80', { connections: 2 }],
    ]),
  }
  expect(addTraffic(a, undefined, b)).toEqual({
    connections: 5,
    open: 1,
    bytesIn: 10,
    lastUsedMs: 5,
    turnedAway: { 'no-endpoint': 2, overload: 2 },
    endpoints: new Map([
      ['10.0.0.1:80', { connections: 3, open: 1, lastUsedMs: 4 }],
      ['10.0.0.2:80', { connections: 2 }],
    ]),
  })
})

test('what no part knows stays unknown, and is not zero', () => {
  expect(addTraffic({ connections: 0 }, {})).toStrictEqual({ connections: 0 })
  expect(addTraffic()).toStrictEqual({})
})

test('what has ended is open no more, and stays counted', () => {
  const one = { connections: 2, open: 1 }
  const endpoints = new Map([['10.0.0.1:80', one]])
  const ended = { connections: 2, open: 0 }
  expect(withoutOpen({ ...one, endpoints })).toEqual({ ...ended, endpoints: new Map([['10.0.0.1:80', ended]]) })
  expect(withoutOpen({ connections: 2 })).toStrictEqual({ connections: 2 })
})
