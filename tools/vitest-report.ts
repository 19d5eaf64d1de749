/** The parts of vitest's JSON report that our tools read. */
import { readFileSync } from 'node:fs'

export interface FileReport {
  /** The path. */
  readonly name: string
  readonly status: string
  /** Why the file could not be run; empty when it could. */
  readonly message: string
  readonly assertionResults: readonly {
    readonly fullName: string
    readonly status: string
    readonly failureMessages: readonly string[]
  }[]
}

export function readReport(path: string): readonly FileReport[] {
  return (JSON.parse(readFileSync(path, 'utf8')) as { readonly testResults: readonly FileReport[] }).testResults
}
