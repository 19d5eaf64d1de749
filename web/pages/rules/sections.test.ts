import { expect, test } from 'vitest'
import { sectionsOf } from './sections.ts'

test('parts are told apart by the line before them', () => {
  const text = '# ipv4, part ipvsadm\n-A -t 10.96.0.10:80 -s rr\n# ipv4, part addresses\naddress add 10.96.0.10/32\n'
  expect(sectionsOf(text)).toEqual([
    { part: 'ipvsadm', text: '-A -t 10.96.0.10:80 -s rr' },
    { part: 'addresses', text: 'address add 10.96.0.10/32\n' },
  ])
})

test('one part alone has no name, and remarks in it are its own', () => {
  expect(sectionsOf('# a remark\nadd table ip fairlead\n')).toEqual([
    { part: '', text: '# a remark\nadd table ip fairlead\n' },
  ])
  expect(sectionsOf('')).toEqual([])
})
