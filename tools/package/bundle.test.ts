import { expect, test } from 'vitest'
import { bundle } from './bundle.ts'

test('every module is bundled with the same settings, whoever asks for it first', async () => {
  const { main } = await bundle('0.1.0')
  const starts = [...main.matchAll(/^ {2}"([^"]+\.ts)"\(\) \{\n(.*)$/gm)]
  expect(starts.length).toBeGreaterThan(100)
  expect(starts.filter(([, , line]) => line !== '    "use strict";').map(([, name]) => name)).toEqual([])
})
