import { expect, test } from 'vitest'
import { featuresFromVersion } from './tool-version.ts'

const versions = [
  ['iptables v1.8.9 (nf_tables)\n', { version: '1.8.9', variant: 'nf_tables', hasRandomFully: true }],
  ['ip6tables v1.8.11 (legacy)\n', { version: '1.8.11', variant: 'legacy', hasRandomFully: true }],
  ['iptables v1.6.2\n', { version: '1.6.2', variant: 'legacy', hasRandomFully: true }],
  ['iptables v1.10\n', { version: '1.10', variant: 'legacy', hasRandomFully: true }],
] as const
for (const [output, features] of versions)
  test(`"${output.trim()}" is understood`, () => {
    expect(featuresFromVersion('iptables', output)).toEqual(features)
  })

for (const output of ['iptables v1.6.1', 'iptables v1.4.21', 'BusyBox', ''])
  test(`"${output}" is too old or no iptables`, () => {
    expect(() => featuresFromVersion('iptables', output)).toThrow(expect.objectContaining({ reason: 'unsupported' }))
  })
