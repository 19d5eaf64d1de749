/** Runs a tool that is no part of iptables, and tells its failures apart. */
import type { Exec } from '../../dataplane/exec/exec.ts'
import { ExecError } from '../../dataplane/exec/exec.ts'

export class ToolError extends Error {
  override readonly name = 'ToolError'
  readonly reason: 'missing' | 'not-permitted' | 'unsupported' | 'refused'

  constructor(reason: ToolError['reason'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

export interface ToolRun {
  readonly program: string
  readonly args: readonly string[]
  /** Completes the sentence "cannot …". */
  readonly doing: string
  readonly stdin?: string
}

/** What it printed. Rejects with a ToolError when it is missing or fails. */
export async function runTool(exec: Exec, run: ToolRun, signal: AbortSignal): Promise<string> {
  const { program, args, doing, stdin = '' } = run
  const done = await start()
  if (done.exitCode === 0) return done.stdout
  const complaint = done.stderr.trim().replaceAll('\n', '; ') || `${program} ended with ${done.exitCode ?? done.signal}`
  throw new ToolError(reasonOf(complaint), `cannot ${doing}: ${complaint}`)

  async function start() {
    try {
      return await exec(program, args, { signal, stdin, env: { LC_ALL: 'C' }, maxStdoutBytes: 400 << 20 })
    } catch (cause) {
      if (!(cause instanceof ExecError)) throw cause
      const reason = cause.reason === 'not-found' ? 'missing' : 'refused'
      throw new ToolError(reason, `cannot ${doing}: ${cause.message}`, { cause })
    }
  }
}

function reasonOf(complaint: string): ToolError['reason'] {
  if (/Permission denied|Operation not permitted|must be root/.test(complaint)) return 'not-permitted'
  return /not supported|Protocol not available|Can't initialize ipvs|Cannot open session to kernel/.test(complaint)
    ? 'unsupported'
    : 'refused'
}
