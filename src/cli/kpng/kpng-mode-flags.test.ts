import { expect, test } from 'vitest'
import { translateModeFlags } from './kpng-mode-flags.ts'

test('flags of KPNG that mean the same get their names here', () => {
  expect(translateModeFlags(['--cluster-cidrs=10.0.0.0/8', '--scheduling-method', 'wrr', '--masquerade-all'])).toEqual({
    argv: ['--cluster-cidr=10.0.0.0/8', '--ipvs-scheduler', 'wrr', '--masquerade-all'],
    ignored: [],
  })
})

test('flags that only concern how KPNG lays out its rules are left out, with their values', () => {
  expect(translateModeFlags(['--split-bits', '24', '--maps-count=256', '--trace', '-v=2'])).toEqual({
    argv: ['-v=2'],
    ignored: ['split-bits', 'maps-count', 'trace'],
  })
})
