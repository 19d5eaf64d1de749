import { expect, test } from 'vitest'
import type { InspectedPiece } from '../../core/inspection.ts'
import { DriftMemory } from '../../core/sync/drift-memory.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { testRoute, testView } from '../../core/testing/routes.ts'
import type { Family } from '../../net/ip.ts'
import type { DebugPage } from '../http/debug/debug-page.ts'
import { driftPage } from './drift-page.ts'
import type { InspectedFamily } from './inspected-family.ts'
import { PacedReading } from './paced-reading.ts'
import { rulesPage } from './rules-page.ts'

const never = new AbortController().signal
const web = testRoute('demo/web:http')
const piece: InspectedPiece = { kind: 'rule', where: 'nat/C', text: '-A C -j D', state: 'missing' }
const { state: _, ...planned } = piece

function familyOf(family: Family, change: Partial<InspectedFamily> = {}): InspectedFamily {
  return {
    family,
    view: () => testView(web),
    pieces: async (key) => (key === web.key ? [planned] : undefined),
    inspect: async () => ({ pieces: [piece] }),
    rendered: async () => [
      { part: 'iptables', text: `rules of ${family}\n` },
      { part: 'listeners', text: '# nobody\n' },
    ],
    compare: async () => ({ kind: 'differs', found: 'a chain is gone' }),
    ...change,
  }
}

function rules(families: readonly InspectedFamily[]) {
  return asking(rulesPage({ families, reading: new PacedReading(new FakeClock()) }))
}

function asking(page: DebugPage) {
  return (query: string) => page.answer({ rest: [], query: new URLSearchParams(query) }, never)
}

test('all rules are shown as text, with a line between several', async () => {
  const ask = rules([familyOf('ipv4'), familyOf('ipv6')])
  expect(await ask('family=ipv6&part=iptables')).toEqual({ kind: 'text', text: 'rules of ipv6\n' })
  expect(await ask('part=iptables')).toEqual({
    kind: 'text',
    text: '# ipv4, part iptables\nrules of ipv4\n# ipv6, part iptables\nrules of ipv6\n',
  })
  expect(await ask('')).toMatchObject({ text: expect.stringMatching(/^(# ipv[46], part \w+\n.*\n){4}$/) as string })
})

test('a family that nobody knows of is said to be so', async () => {
  const ask = rules([familyOf('ipv4', { rendered: async () => undefined }), familyOf('ipv6')])
  expect(await ask('part=iptables')).toEqual({
    kind: 'text',
    text: '# ipv4: nothing is programmed yet, or the last sync has failed\n# ipv6, part iptables\nrules of ipv6\n',
  })
})

test('one Service is shown piece by piece, and compared when that is asked for', async () => {
  const ask = rules([familyOf('ipv4'), familyOf('ipv6', { view: () => testView() })])
  const answer = (pieces: readonly unknown[]) => ({
    kind: 'json',
    value: { service: 'demo/web', routes: [{ route: 'demo/web:http/TCP', family: 'ipv4', pieces }] },
  })
  expect(await ask('service=demo/web')).toEqual(answer([planned]))
  expect(await ask('service=demo/web&actual=0')).toEqual(answer([planned]))
  expect(await ask('service=demo/web&actual=1')).toEqual(answer([piece]))
})

test.each([
  ['family=ipx', 400, 'family=ipx is not programmed here: use family=ipv4'],
  ['part=ipset', 400, 'there is no part=ipset: use one of iptables, listeners'],
  ['service=web', 400, 'service=web names no Service: ask with service=NAMESPACE/NAME'],
  ['service=demo/other', 404, 'nothing is programmed for a Service demo/other'],
  ['actual=1', 400, 'actual=1 needs service=NAMESPACE/NAME'],
])('%s is refused', async (query, status, message) => {
  const refused = { kind: 'refused', status, message: expect.stringContaining(message) as string }
  expect(await rules([familyOf('ipv4')])(query)).toEqual(refused)
})

test('drift is listed, and looked for when that is asked for', async () => {
  const clock = new FakeClock()
  const memory = new DriftMemory(clock)
  const families = [familyOf('ipv4'), familyOf('ipv6', { compare: async () => undefined })]
  const ask = asking(driftPage({ families, memory, reading: new PacedReading(clock) }))
  memory.noteFound('ipv4', 'a rule is gone')
  memory.noteFound('ipv6', 'a table is gone')
  const at = new Date(clock.now()).toISOString()
  const lost = { at, family: 'ipv6', found: 'a table is gone', times: 1, repairedAfterSeconds: null }
  expect(await ask('family=ipv6')).toEqual({ kind: 'json', value: { total: 2, drift: [lost] } })
  expect(await ask('now=1')).toMatchObject({
    value: {
      now: [
        { family: 'ipv4', kind: 'differs', found: 'a chain is gone' },
        { family: 'ipv6', kind: 'nothing to compare' },
      ],
    },
  })
  expect(await ask('family=x')).toMatchObject({ kind: 'refused', status: 400 })
})

test('readings rest as long as they took, however many ask', async () => {
  const clock = new FakeClock()
  const reading = new PacedReading(clock)
  const began: number[] = []
  const start = clock.monotonic()
  const read = () =>
    reading.run(async () => {
      began.push(clock.monotonic() - start)
      await clock.sleep(1000, never)
    }, never)
  const all = Promise.all([read(), read(), read()])
  await clock.advance(10_000)
  await all
  expect(began).toEqual([0, 2000, 4000])
})

test('a reading that fails does not keep others from reading', async () => {
  const reading = new PacedReading(new FakeClock())
  await expect(reading.run(() => Promise.reject(new Error('no tool')), never)).rejects.toThrow('no tool')
  expect(await reading.run(async () => 'read', never)).toBe('read')
})
