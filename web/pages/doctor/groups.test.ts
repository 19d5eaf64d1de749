import { expect, test } from 'vitest'
import type { Finding, Severity } from '../../../src/cli/doctor/finding.ts'
import { severities } from '../../../src/cli/doctor/finding.ts'
import { groupsOf } from './groups.ts'

function finding(name: string, severity: Severity): Finding {
  return { name, severity, check: 'x', what: 'x', evidence: 'x', fix: 'x' }
}

test('the worst come first, and nothing is told of what there is none of', () => {
  const groups = groupsOf([finding('a', 'note'), finding('b', 'error'), finding('c', 'note')])
  expect(groups.map(({ severity, findings }) => [severity, findings.map(({ name }) => name)])).toEqual([
    ['error', ['b']],
    ['note', ['a', 'c']],
  ])
})

test('every severity of the doctor has its place', () => {
  const groups = groupsOf(severities.map((severity) => finding(severity, severity)))
  expect(groups.map(({ severity }) => severity)).toEqual([...severities])
})
