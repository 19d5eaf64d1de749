import { expect, test } from 'vitest'
import { lackedCapabilities } from './capabilities.ts'

const statusWith = (effective: string) => () => `Name:\tnode\nCapPrm:\tffff\nCapEff:\t${effective}\nCapBnd:\t0\n`
const all = ['CAP_NET_ADMIN', 'CAP_NET_RAW', 'CAP_NET_BIND_SERVICE'] as const

test.each([
  { effective: '000001ffffffffff', lacked: [] },
  { effective: '0000000000001000', lacked: ['CAP_NET_RAW', 'CAP_NET_BIND_SERVICE'] },
  { effective: '0000000000003000', lacked: ['CAP_NET_BIND_SERVICE'] },
  { effective: '0000000000000000', lacked: all },
])('with CapEff $effective, $lacked are missing', ({ effective, lacked }) => {
  expect(lackedCapabilities(all, statusWith(effective))).toEqual(lacked)
})

test('where the system does not tell, nothing is said to be missing', () => {
  const unreadable = () => {
    throw new Error('ENOENT')
  }
  expect(lackedCapabilities(all, unreadable)).toEqual([])
  expect(lackedCapabilities(all, () => 'Name:\tnode\n')).toEqual([])
})
