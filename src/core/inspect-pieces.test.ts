import { expect, test } from 'vitest'
import { compareRules, inspectPieces, sameOrDiffers, thereOrMissing } from './inspect-pieces.ts'

const { signal } = new AbortController()
const strange = { kind: 'rule', where: 'chain c' }
const rules = ['a', 'b', 'c'].map((text) => ({ piece: { ...strange, text }, readsAs: text }))

function states(found: readonly string[] | undefined) {
  return compareRules(rules, found, strange).map(({ text, state, found: instead }) =>
    [text, state, ...(instead === undefined ? [] : [instead])].join(': '),
  )
}

test('rules are compared with their order', () => {
  expect(states(['a', 'b', 'c'])).toEqual(['a: as planned', 'b: as planned', 'c: as planned'])
  expect(states(undefined)).toEqual(['a: missing', 'b: missing', 'c: missing'])
  expect(states(['a', 'c'])).toEqual(['a: as planned', 'b: missing', 'c: as planned'])
  expect(states(['a', 'c', 'b'])).toEqual(['a: as planned', 'b: as planned', 'c: differs: the same, but as rule 2'])
})

test('a rule that nobody planned is shown, and does not make the others wrong', () => {
  expect(states(['x', 'a', 'b', 'b', 'c'])).toEqual([
    'a: as planned',
    'b: as planned',
    'c: as planned',
    'x: not planned',
    'b: not planned',
  ])
})

test('what cannot be read does not hide what can', async () => {
  const [readable, secret] = ['readable', 'secret'].map((text) => ({ kind: 'rule', where: 'chain c', text }))
  const inspection = await inspectPieces(
    [
      { pieces: [readable!], compare: async () => [thereOrMissing(readable!, true)] },
      { pieces: [secret!], compare: () => Promise.reject(new Error('run as root')) },
      { pieces: [], compare: () => Promise.reject(new Error('nobody asks')) },
    ],
    signal,
  )
  expect(inspection).toEqual({
    pieces: [
      { ...readable, state: 'as planned' },
      { ...secret, state: 'not read' },
    ],
    notRead: 'run as root',
  })
})

test('whoever no longer wants to know is not told that something is unreadable', async () => {
  const look = { pieces: [{ kind: 'rule', where: '', text: '' }], compare: () => Promise.reject(new Error('aborted')) }
  await expect(inspectPieces([look], AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
})

test('another content differs', () => {
  const piece = { kind: 'element', where: 'map m', text: 'k : drop' }
  expect(sameOrDiffers(piece, 'drop', 'drop').state).toBe('as planned')
  expect(sameOrDiffers(piece, 'accept', 'drop')).toEqual({ ...piece, state: 'differs', found: 'accept' })
  expect(sameOrDiffers(piece, undefined, 'drop').state).toBe('missing')
})
