import { expect, test } from 'vitest'
import type { ObjectKey, Protocol } from '../../api/records.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { testEndpoint, testRoute } from '../testing/routes.ts'
import { HealthChecks } from './health-checks.ts'

const web = 'shop/web' as ObjectKey
const tcp = { kind: 'tcp' } as const

async function given(problems: Readonly<Record<string, string>> = {}) {
  const clock = new FakeClock()
  const asked: string[] = []
  const changes: number[] = []
  let problemsNow = problems
  const checks = new HealthChecks({
    clock,
    probe: async ({ ip, port, check }) => {
      asked.push(`${ip}:${port} ${check.kind}`)
      return problemsNow[ip]
    },
    random: () => 0.5,
    onChange: () => changes.push(clock.monotonic()),
  })
  const stop = new AbortController()
  const run = checks.run(stop.signal)
  await clock.advance(0)
  return {
    clock,
    checks,
    asked,
    changes,
    say: (problem: Readonly<Record<string, string>>) => (problemsNow = problem),
    end: async () => {
      stop.abort()
      await run
      return clock.sleeping
    },
  }
}

const endpoints = ['10.0.0.1', '10.0.0.2'].map((ip) => testEndpoint(ip, 8080))
const route = testRoute('shop/web', { endpoints })

test('an endpoint that fails twice is left out, with the reason, and comes back when it answers', async () => {
  const { clock, checks, changes, say, end } = await given({ '10.0.0.2': 'connection refused' })
  checks.watch(web, tcp, [route])
  await clock.advance(2_600)
  expect(checks.problemsOf(web)).toEqual([])
  expect(checks.unreachableOf(web, tcp)).toBeUndefined()
  await clock.advance(5_000)
  expect(checks.problemsOf(web)).toEqual([
    expect.objectContaining({ address: '10.0.0.2:8080', problem: 'connection refused' }),
  ])
  const isUnreachable = checks.unreachableOf(web, tcp)
  const at = (ip: string, protocol: Protocol) => isUnreachable?.({ address: `${ip}:8080`, protocol })
  expect([at('10.0.0.1', 'TCP'), at('10.0.0.2', 'TCP'), at('10.0.0.2', 'UDP')]).toEqual([false, true, false])
  say({})
  await clock.advance(5_000)
  expect(checks.problemsOf(web)).toEqual([])
  expect(changes).toEqual([7_500, 12_500])
  expect(await end()).toBe(0)
})

test('one that is left out is asked on although this node does not use it', async () => {
  const { clock, checks, asked, say, end } = await given({ '10.0.0.2': 'no answer' })
  checks.watch(web, tcp, [route])
  await clock.advance(8_000)
  const without = { ...route, reachableEndpoints: endpoints.slice(0, 1) }
  checks.watch(web, tcp, [without])
  asked.length = 0
  say({})
  await clock.advance(5_000)
  expect(asked.sort()).toEqual(['10.0.0.1:8080 tcp', '10.0.0.2:8080 tcp'])
  checks.watch(web, tcp, [without])
  asked.length = 0
  await clock.advance(5_000)
  expect(asked).toEqual(['10.0.0.1:8080 tcp'])
  await end()
})

test('only endpoints of TCP that this node uses are asked, and a Service that is forgotten is left alone', async () => {
  const { clock, checks, asked, end } = await given()
  const unused = testEndpoint('10.0.0.3', 8080, { ready: false })
  const udp = testRoute('shop/web:dns', { protocol: 'UDP', endpoints: [testEndpoint('10.0.0.4', 53)] })
  checks.watch(web, tcp, [testRoute('shop/web', { endpoints: [...endpoints, unused] }), udp])
  await clock.advance(3_000)
  expect(asked.sort()).toEqual(['10.0.0.1:8080 tcp', '10.0.0.2:8080 tcp'])
  checks.forget(web)
  await clock.advance(60_000)
  expect(asked).toHaveLength(2)
  await end()
})

test('another check begins anew', async () => {
  const { clock, checks, asked, end } = await given({ '10.0.0.2': 'no answer' })
  checks.watch(web, tcp, [route])
  await clock.advance(8_000)
  expect(checks.problemsOf(web)).toHaveLength(1)
  expect(checks.unreachableOf(web, { kind: 'http', path: '/ready' })).toBeUndefined()
  checks.watch(web, { kind: 'http', path: '/ready' }, [route])
  expect(checks.problemsOf(web)).toEqual([])
  asked.length = 0
  await clock.advance(3_000)
  expect(asked.sort()).toEqual(['10.0.0.1:8080 http', '10.0.0.2:8080 http'])
  await end()
})

test('a Service that loses very many endpoints is routed once in a second, and none is forgotten', async () => {
  const many = Array.from({ length: 1_000 }, (_, index) => testEndpoint(`10.0.${index >> 8}.${index & 255}`, 8080))
  const { clock, checks, changes, say, end } = await given()
  const failing = Object.fromEntries(many.map(({ ip }) => [ip, 'no answer']))
  say(failing)
  checks.watch(web, tcp, [testRoute('shop/web', { endpoints: many })])
  await clock.advance(20_000)
  expect(checks.problemsOf(web)).toHaveLength(1_000)
  expect(changes.length).toBeLessThanOrEqual(5)
  expect(changes.every((at, index) => index === 0 || at - (changes[index - 1] ?? 0) >= 1_000)).toBe(true)
  const lastFailure = changes.at(-1)
  say({ ...failing, '10.0.0.7': undefined as unknown as string })
  await clock.advance(6_000)
  expect(checks.problemsOf(web)).toHaveLength(999)
  expect(changes.at(-1)).toBeGreaterThan(lastFailure ?? 0)
  expect(await end()).toBe(0)
})

test('those that were left out first are named first', async () => {
  const { clock, checks, say, end } = await given({ '10.0.0.2': 'no answer' })
  checks.watch(web, tcp, [route])
  await clock.advance(8_000)
  say({ '10.0.0.1': 'no answer', '10.0.0.2': 'no answer' })
  await clock.advance(10_000)
  expect(checks.problemsOf(web).map(({ address }) => address)).toEqual(['10.0.0.2:8080', '10.0.0.1:8080'])
  await end()
})
