import fc from 'fast-check'
import { expect, test } from 'vitest'
import { quoted, ruleWords } from './rule-quoting.ts'

test('words are split at spaces, and quotes hold them together', () => {
  expect(ruleWords('-m comment  --comment "a b" -j X')).toEqual(['-m', 'comment', '--comment', 'a b', '-j', 'X'])
  expect(ruleWords('--comment "a \\" b\\\\" -j')).toEqual(['--comment', 'a " b\\', '-j'])
  expect(ruleWords('')).toEqual([])
})

test('only words with special characters are quoted', () => {
  expect([quoted('plain_word-1'), quoted('a b'), quoted('ns/svc:port'), quoted('')]).toEqual([
    'plain_word-1',
    '"a b"',
    '"ns/svc:port"',
    '""',
  ])
})

test('what was quoted is read back as it was', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (words) => {
      expect(ruleWords(words.map(quoted).join(' '))).toEqual(words)
    }),
  )
})
