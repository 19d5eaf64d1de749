import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { instanceUnit } from './instance-unit.ts'
import { root } from './places.ts'

test('the unit of instances is the plain one, which takes over, waits longer, and leaves the folder to the other', () => {
  const plain = readFileSync(join(root, 'deploy/machine/fairlead.service'), 'utf8')
  const lines = plain.split('\n')
  const changed = instanceUnit(plain)
    .split('\n')
    .filter((line) => !lines.includes(line))
  expect(changed).toEqual([
    'ExecStart=fairlead --take-over $FAIRLEAD_FLAGS',
    'TimeoutStopSec=300s',
    'RuntimeDirectoryPreserve=yes',
  ])
  expect(() => instanceUnit(plain.replace('TimeoutStopSec=60s', ''))).toThrow('has no line "TimeoutStopSec=60s"')
})
