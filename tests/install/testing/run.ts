import { spawnSync } from 'node:child_process'

export interface Finished {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program to its end, with no Node.js in its PATH. */
export function run(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Finished {
  const { status, stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { PATH: '/usr/sbin:/sbin', LC_ALL: 'C.UTF-8', ...env },
    input: '',
    timeout: 100_000,
  })
  return { status, stdout, stderr }
}
