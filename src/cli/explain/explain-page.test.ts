import { expect, test } from 'vitest'
import { given } from '../../core/explain/testing/given.ts'
import type { Inspection } from '../../core/inspection.ts'
import { service, slice } from '../../core/testing/objects.ts'
import { explainPage } from './explain-page.ts'
import type { ToldAnswer } from '../../observe/console/wire.ts'
import type { ExplainPageOptions } from './explain-page.ts'

const never = new AbortController().signal
const world = given([
  service('shop/web', { clusterIP: '10.96.0.1', ports: [{ port: 80 }] }),
  slice('shop/web-1', 'web', ['10.64.0.1', '10.64.0.2']),
])

function ask(query: Readonly<Record<string, string>>, options: Partial<ExplainPageOptions> = {}) {
  return explainPage({ world: () => world, ...options }).answer({ rest: [], query: new URLSearchParams(query) }, never)
}

test('a question is answered as data, or as text', async () => {
  expect(await ask({ target: '10.96.0.1:80', from: 'host' })).toMatchObject({
    kind: 'json',
    value: { ok: true, explanations: [{ verdict: { kind: 'forward' }, source: { place: 'this node' } }] },
  })
  expect(await ask({ target: 'service/web', namespace: 'shop', output: 'text' })).toMatchObject({
    kind: 'text',
    text: expect.stringContaining('One of these 2 endpoints answers') as string,
  })
})

test('an answer for the console has the sentences of the text one by one', async () => {
  const query = { target: 'service/web', namespace: 'shop' }
  const [told, text] = [await ask({ ...query, output: 'told' }), await ask({ ...query, output: 'text' })]
  const value = told.kind === 'json' ? (told.value as ToldAnswer) : undefined
  expect(value?.text).toBe(text.kind === 'text' && text.text)
  expect(value?.explanations).toHaveLength(1)
  expect(value?.verdicts).toEqual([value?.told?.verdict])
  const unbroken = value?.text.replaceAll(/\s+/g, ' ')
  for (const sentence of [
    value?.told?.title,
    value?.told?.verdict,
    ...(value?.told?.steps ?? []).map(({ says }) => says),
  ])
    expect(unbroken).toContain(sentence)
  expect(value?.told?.steps.find(({ lists }) => lists !== undefined)?.lists?.rows).toHaveLength(2)
})

test.each([
  [{}, 400, /ask for IP:PORT/],
  [{ target: '10.96.0.1:80', from: 'mars' }, 400, /--from=mars is not known/],
  [{ target: '10.96.0.1:80', from: 'fd00::1' }, 400, /cannot reach an IPv4 address/],
  [{ target: 'service/web' }, 404, /no Service "web" in namespace "default"/],
])('%o is refused', async (query, status, message) => {
  const answer = await ask(query)
  expect(answer).toMatchObject({ kind: 'refused', status })
  expect(answer.kind === 'refused' && answer.message).toMatch(message)
})

test('what the data plane holds and what was counted are added; what differs comes first', async () => {
  const inspection: Inspection = {
    pieces: [
      { kind: 'element', where: 'map services', text: '10.96.0.1 . tcp . 80 : goto pick-2', state: 'as planned' },
      { kind: 'element', where: 'map endpoints', text: 'a', state: 'differs', found: 'b' },
    ],
  }
  const observed = { openConnections: { '10.64.0.1:8080': 3 }, skew: { ratio: 2, evenShare: 1.5 } }
  const options = { inspect: async () => inspection, observe: async () => observed }
  const answer = await ask({ target: '10.96.0.1:80', output: 'text' }, options)
  expect(answer.kind === 'text' && answer.text).toContain(
    `Open connections, the busiest has 2.0 times an even share:
   ENDPOINT         OPEN
   10.64.0.1:8080   3

What does it (read, and 1 of 2 not as planned):
   map endpoints
     DIFFERS: a
       found: b
   map services
     10.96.0.1 . tcp . 80 : goto pick-2
`,
  )
})

test('the verdict is not alone when the data plane differs from the plan', async () => {
  const element = { kind: 'element', where: 'map services', text: 'a' } as const
  const secondLines = async (state: 'as planned' | 'missing') => {
    const inspect = async (): Promise<Inspection> => ({ pieces: [{ ...element, state }] })
    const answer = await ask({ target: '10.96.0.1:80', output: 'text' }, { inspect })
    return answer.kind === 'text' ? answer.text.split('\n').slice(1, 3) : []
  }
  expect(await secondLines('as planned')).toEqual(['Answered by one of 2 endpoints.', ''])
  expect(await secondLines('missing')).toEqual([
    'Answered by one of 2 endpoints.',
    'This is the plan. What is there differs from it (see the end), so packets may fare otherwise.',
  ])
})

test('why the open connections are not known is told', async () => {
  const observe = async () => ({ uncounted: 'the counters are still being read' })
  const answer = await ask({ target: '10.96.0.1:80', output: 'text' }, { observe })
  expect(answer.kind === 'text' && answer.text).toContain(
    'How many connections are open is not known: the counters are still being read.',
  )
})

test('what other ways in have is left out, and mentioned where it differs', async () => {
  const piece = { kind: 'element', where: 'map services' } as const
  const ours = { ...piece, text: 'ours', entrance: { ip: '10.96.0.1', port: 80 }, state: 'as planned' } as const
  const shared = { ...piece, text: 'shared', state: 'as planned' } as const
  const others = { ...piece, text: 'others', entrance: { port: 30080 } } as const
  const told = async (state: 'as planned' | 'missing', output: string) => {
    const inspect = async (): Promise<Inspection> => ({ pieces: [ours, shared, { ...others, state }] })
    return ask({ target: '10.96.0.1:80', output }, { inspect })
  }
  expect(await told('as planned', 'text')).toMatchObject({
    text: expect.stringMatching(/\(read, and all as planned\):\n {3}map services\n {5}ours\n {5}shared\n$/) as string,
  })
  expect(await told('missing', 'text')).toMatchObject({
    text: expect.stringMatching(
      /^(?![^]*This is the plan)[^]* {5}shared\nOf other ways in, 1 is not as planned: \/debug\/rules\?service=shop\/web&actual=1 shows it\.\n$/,
    ) as string,
  })
  expect(await told('missing', 'json')).toMatchObject({
    value: { explanations: [{ inspection: { pieces: [ours, shared] }, wrongElsewhere: 1 }] },
  })
})

test('failed dials are listed: the shares count on endpoints that the relay may avoid', async () => {
  const failedDials = {
    '10.64.0.1:8080': { count: 3, lastUsed: '2026-01-02T03:04:05.000Z' },
    '10.64.0.2:8080': { count: 1 },
  }
  const answer = await ask({ target: '10.96.0.1:80', output: 'text' }, { observe: async () => ({ failedDials }) })
  expect(answer.kind === 'text' && answer.text).toContain(
    `Dials that failed. After one an endpoint is tried last for up to a minute:
   ENDPOINT         FAILED DIALS   LAST USE
   10.64.0.1:8080   3              2026-01-02T03:04:05.000Z
   10.64.0.2:8080   1              -
`,
  )
})
