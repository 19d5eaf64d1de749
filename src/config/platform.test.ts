import { expect, test } from 'vitest'
import { defaultConfig } from './file/config-from-v1alpha1.ts'
import { systemOf, withPlatformDefaults } from './platform.ts'

test.each([
  ['iptables', 'linux'],
  ['ipvs', 'linux'],
  ['nftables', 'linux'],
  ['kernelspace', 'win32'],
  ['winuserspace', 'win32'],
  ['userspace', undefined],
  ['nope', undefined],
])('mode %s is one of %s', (mode, system) => {
  expect(systemOf(mode)).toBe(system)
})

test.each([
  ['', 'win32', 'kernelspace'],
  ['', 'linux', 'iptables'],
  ['', 'darwin', 'userspace'],
  ['winuserspace', 'win32', 'userspace'],
  ['winuserspace', 'linux', 'winuserspace'],
  ['userspace', 'win32', 'userspace'],
] as const)('mode "%s" on %s means %s', (mode, platform, meant) => {
  expect(withPlatformDefaults({ ...defaultConfig(), mode }, platform).mode).toBe(meant)
})
