/** An Exec that runs nothing. It records the command lines, and returns the results that the test gives. */
import type { Exec, ExecResult } from '../../exec/exec.ts'
import { ExecError } from '../../exec/exec.ts'

export interface ScriptedExec {
  readonly exec: Exec
  /** Command lines. */
  readonly commands: string[]
}

/** `answer` returns a result, parts of one, or nothing for a program that is not installed. */
export function scriptedExec(
  answer: (command: string) => Partial<ExecResult> | undefined | Promise<Partial<ExecResult>>,
): ScriptedExec {
  const commands: string[] = []
  return {
    commands,
    async exec(program, args, { onStdout }) {
      const command = [program, ...args].join(' ')
      commands.push(command)
      const result = await answer(command)
      if (result === undefined) throw new ExecError('not-found', `there is no program "${program}"`)
      if (onStdout !== undefined) onStdout(Buffer.from(result.stdout ?? ''))
      return { exitCode: 0, signal: null, stderr: '', ...result, stdout: onStdout ? '' : (result.stdout ?? '') }
    },
  }
}
