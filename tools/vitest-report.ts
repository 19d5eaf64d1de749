/** What vitest's JSON reporter writes, as far as our tools read it. */
import { readFileSync } from 'node:fs'

export interface FileReport {
  /** Its path. */
  readonly name: string
  readonly status: string
  readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[]
}

export function readReport(path: string): readonly FileReport[] {
  return (JSON.parse(readFileSync(path, 'utf8')) as { readonly testResults: readonly FileReport[] }).testResults
}
