/** Findings by how bad they are, worst first. */
import type { Finding, Severity } from '../../../src/cli/doctor/finding.ts'

interface Group {
  readonly severity: Severity
  readonly findings: readonly Finding[]
}

const order: readonly Severity[] = ['error', 'warning', 'note']

export function groupsOf(findings: readonly Finding[]): readonly Group[] {
  return order
    .map((severity) => ({ severity, findings: findings.filter((finding) => finding.severity === severity) }))
    .filter((group) => group.findings.length > 0)
}
