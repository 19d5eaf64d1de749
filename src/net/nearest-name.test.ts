import { expect, test } from 'vitest'
import { nearestName } from './nearest-name.ts'

test.each([
  ['a letter too few', 'servce', 'service'],
  ['a letter too many', 'serviice', 'service'],
  ['a wrong letter', 'sertice', 'service'],
  ['two in a short word', 'pxrx', 'port'],
  ['a third of the letters in a long one', 'xxxpoints', 'endpoints'],
  ['only its case', 'SERVICE', 'service'],
  ['a part of the word', 'pattern', 'filePattern'],
  ['the word and more', 'theEndpointsOfService', 'endpoints'],
])('%s is a slip: %s for %s', (_, mistyped, meant) => {
  expect(nearestName(mistyped, ['zone', meant, 'kind'])).toBe(meant)
})

test.each([
  ['three letters of a short word', 'pxxx', 'port'],
  ['more than a third of a long one', 'xxxxoints', 'endpoints'],
  ['a part of three letters', 'end', 'endpoints'],
  ['a known name of three letters inside', 'clusterwidezip', 'zip'],
])('another word is not: %s', (_, mistyped, known) => {
  expect(nearestName(mistyped, [known])).toBeUndefined()
})

test('four letters are enough for a part', () => {
  expect(nearestName('endp', ['endpointslices'])).toBe('endpointslices')
})

test('the nearest one counts, of equals the first', () => {
  expect(nearestName('ports', ['parts', 'port', 'sort'])).toBe('parts')
  expect(nearestName('port', ['part', 'port', 'sort'])).toBe('port')
  expect(nearestName('port', ['parts', 'part'])).toBe('part')
  expect(nearestName('port', [])).toBeUndefined()
})

test('a name keeps the case in which it is known', () => {
  expect(nearestName('filepattern', ['filePattern'])).toBe('filePattern')
})
