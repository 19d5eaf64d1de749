/** What a command may use of the process it runs in; tests hand in their own. */
import { readFileSync } from 'node:fs'

export interface Program {
  readonly platform: NodeJS.Platform
  readonly env: NodeJS.ProcessEnv
  /** Results: what a pipe or another program reads. */
  out(text: string): void
  /** Diagnostics, for people. */
  err(text: string): void
}

/** Ends a command with one clear sentence on stderr and exit code 1. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}

export function thisProgram(): Program {
  // Whoever read our output may be gone (`| head`); that ends the output, not the program.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  return {
    platform: process.platform,
    env: process.env,
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
  }
}

/** Of Fairlead, from its package. */
export function fairleadVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  return manifest.version
}
