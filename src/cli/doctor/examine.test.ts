import { expect, onTestFinished, test } from 'vitest'
import { check } from './check.ts'
import { CannotLook } from './evidence.ts'
import type { EvidenceReaders } from './evidence.ts'
import { examine } from './examine.ts'
import { renderJson, renderText } from './report.ts'
import { setupWith } from './testing/setup.ts'

const never = new AbortController().signal
const finds = {
  bad: { severity: 'error', meaning: 'It is bad.', fix: 'Mend it.' },
  odd: { severity: 'note', meaning: 'It is odd.', fix: 'Nothing.' },
} as const
const sees = check({
  name: 'sees',
  title: 'what can be seen',
  needs: ['capabilities'],
  finds,
  run: (_, { capabilities }, find) => [
    find('odd', { what: 'A number.', evidence: String(capabilities) }),
    find('bad', { what: 'A worse number.', evidence: 'two\nlines', fix: 'Count again.' }),
    find('bad', { what: 'A worse number.', evidence: 'two\nlines' }),
  ],
})
const blind = check({ name: 'blind', title: 'what is hidden', needs: ['capabilities', 'nft'], finds, run: () => [] })
const readersWith = (readers: Partial<EvidenceReaders>) => readers as EvidenceReaders

test('reads each piece of evidence once, and tells the worst first', async () => {
  let reads = 0
  const readers = readersWith({ capabilities: () => Promise.resolve(BigInt(++reads)) })
  const { findings, checks } = await examine([sees, { ...sees, name: 'again' }], await setupWith(), readers, never)
  expect(checks).toEqual(['sees', 'again'])
  expect(findings.map(({ name, evidence }) => `${name} ${evidence}`)).toEqual(['bad two\nlines', 'odd 1'])
})

test('a reader may run many programs that end with it, and Node sees no leak in that', async () => {
  const warnings: Error[] = []
  const note = (warning: Error) => void warnings.push(warning)
  process.on('warning', note)
  onTestFinished(() => void process.off('warning', note))
  const capabilities: EvidenceReaders['capabilities'] = (_, signal) => {
    for (let count = 0; count < 20; count++) signal.addEventListener('abort', () => count)
    return Promise.resolve(7n)
  }
  await examine([sees], await setupWith(), readersWith({ capabilities }), never)
  // Warnings come a moment later.
  await new Promise((resolve) => setImmediate(resolve))
  expect(warnings).toEqual([])
})

test('a check that cannot look says so, and the others go on', async () => {
  const readers = readersWith({
    capabilities: () => Promise.resolve(7n),
    nft: () => Promise.reject(new CannotLook('not permitted', 'Run as root.')),
  })
  const { findings } = await examine([blind, sees], await setupWith(), readers, never)
  expect(findings.find(({ check: name }) => name === 'blind')).toEqual({
    name: 'not-checked',
    severity: 'warning',
    check: 'blind',
    what: 'Not checked: what is hidden.',
    evidence: 'not permitted',
    fix: 'Run as root.',
  })
  expect(findings).toHaveLength(3)
})

test('a failure of ours is told as well, and not taken for health', async () => {
  const readers = readersWith({ capabilities: () => Promise.reject(new Error('a bug')) })
  const { findings } = await examine([sees], await setupWith(), readers, never)
  expect(findings).toMatchObject([{ name: 'not-checked', evidence: 'a bug' }])
})

test('leaves out what does not concern the system, the mode or the moment', async () => {
  const others = [
    { ...sees, systems: ['win32' as const] },
    { ...sees, concerns: () => false },
    { ...sees, isBeforeStart: false },
  ]
  const setup = await setupWith([], { isBeforeStart: true })
  expect(await examine(others, setup, readersWith({}), never)).toEqual({ checks: [], findings: [] })
})

test('people read what, evidence and fix; programs read JSON', async () => {
  const setup = await setupWith(['--proxy-mode=nftables'])
  const readers = readersWith({ capabilities: () => Promise.resolve(7n) })
  const examination = await examine([sees], setup, readers, never)
  const terminal = { columns: undefined, hasColour: false }
  expect(renderText(examination, { setup, terminal })).toBe(`Errors (1)
  bad
    A worse number.
    seen  two
          lines
    fix   Count again.

Notes (1)
  odd
    A number.
    seen  7
    fix   Nothing.

node node-a, nftables mode: 1 checks, 1 error, 1 note
`)
  expect(renderText(examination, { setup, terminal: { columns: 80, hasColour: true } })).toContain(
    '\u001B[31mErrors (1)',
  )
  expect(JSON.parse(renderJson(examination, { setup }))).toMatchObject({
    node: 'node-a',
    mode: 'nftables',
    beforeStart: false,
    errors: 1,
    warnings: 0,
    notes: 1,
    findings: [{ name: 'bad', severity: 'error', check: 'sees' }, { name: 'odd' }],
  })
})
