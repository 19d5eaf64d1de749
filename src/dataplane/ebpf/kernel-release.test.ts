import { expect, test } from 'vitest'
import { keepsAddressesOfKernelSockets } from './kernel-release.ts'

test.each([
  ['6.6.0', true],
  ['6.18.44-fc-v490', true],
  ['10.0.1', true],
  ['6.5.13', false],
  ['6.1.0-13-amd64', false],
  ['6.1.0-14-amd64', true],
  ['6.1.0-56-cloud-amd64', true],
  ['6.1.0-1036-oem', false],
  ['6.1.58', false],
  ['6.1.59', true],
  ['6.1.134-152.225.amzn2023.x86_64', true],
  ['5.15.0-112-generic', false],
  ['5.15.0-113-generic', true],
  ['5.15.0-1063-aws', false],
  ['5.15.167', false],
  ['5.4.0-186-generic', false],
  ['5.4.0-187-generic', true],
  ['6.5.0-41-generic', true],
  ['6.2.0-99-generic', false],
  ['4.18.0-553.8.1.el8_10.x86_64', true],
  ['4.18.0-553.el8_10.x86_64', false],
  ['5.14.0-427.31.1.el9_4.x86_64', true],
  ['5.14.0-427.13.1.el9_4.x86_64', false],
  ['5.14.0-503.11.1.el9_5.x86_64', true],
  ['', false],
])('Linux %s: %s', (release, expected) => {
  expect(keepsAddressesOfKernelSockets(release)).toBe(expected)
})
