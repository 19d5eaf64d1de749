/** What a tool says about its version. */
import { ExecError } from './exec.ts'
import type { Exec } from './exec.ts'

export type ProgramVersion =
  /** `text` is the first line that it printed. */
  | { readonly kind: 'found'; readonly text: string; readonly version: string | undefined }
  | { readonly kind: 'missing' }
  /** It is there and does not run. */
  | { readonly kind: 'broken'; readonly reason: string }

export async function programVersion(
  exec: Exec,
  program: string,
  signal: AbortSignal,
  args: readonly string[] = ['--version'],
): Promise<ProgramVersion> {
  try {
    const { exitCode, signal: killedBy, stdout, stderr } = await exec(program, args, { signal, timeoutMs: 5_000 })
    const text = (stdout.trim() || stderr.trim()).split('\n')[0] ?? ''
    if (exitCode === 0) return { kind: 'found', text, version: /v?(\d+(?:\.\d+)+)/.exec(text)?.[1] }
    return {
      kind: 'broken',
      reason: killedBy === null ? `ended with code ${exitCode}: ${text}` : `killed by ${killedBy}`,
    }
  } catch (error) {
    if (!(error instanceof ExecError)) throw error
    return error.reason === 'not-found' ? { kind: 'missing' } : { kind: 'broken', reason: error.message }
  }
}
