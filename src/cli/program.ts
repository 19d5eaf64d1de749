/** What a command is given: the machine it runs on, and how it talks to the person who called it. Tests hand in their own. */
import { Hangups } from './hangups.ts'
import type { Host, OutputStream } from './host/host.ts'
import { noProgress, showProgress } from './progress.ts'
import type { Progress } from './progress.ts'
import { noTerminal, terminalOf } from './terminal.ts'
import type { Terminal } from './terminal.ts'

export { fairleadVersion } from '../host/own-files.ts'

export interface Program {
  readonly host: Host
  /** The start has succeeded. Whoever started us as a service waits for this. */
  readonly onRunning: () => void
  /** SIGHUPs, for a command that goes on after one. */
  readonly hangups: Hangups
  /** Results: what a pipe or another program reads. */
  out(text: string): void
  /** Diagnostics, for people. */
  err(text: string): void
  /** Where `out` goes to. */
  readonly stdout: Terminal
  /** Where `err` goes to. */
  readonly stderr: Terminal
  /** For work that may take longer than a second; ends when it is disposed of. */
  progress(label: string): Progress
}

/** For a program whose output goes to no terminal, and whose start nobody waits for. */
export const unwatched: Pick<Program, 'onRunning' | 'hangups' | 'stdout' | 'stderr' | 'progress'> = {
  onRunning: () => {},
  hangups: new Hangups(),
  stdout: noTerminal,
  stderr: noTerminal,
  progress: () => noProgress,
}

/** Ends a command with one clear sentence on stderr and exit code 1. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}

export function thisProgram(host: Host, onRunning = () => {}, hangups = new Hangups()): Program {
  const { stdout, stderr } = host.process.streams
  // The reader of our output may be gone (`| head`). Without a listener that would end the program.
  for (const stream of [stdout, stderr]) stream.on('error', () => {})
  const [outTerminal, errTerminal] = [terminalOf(stdout, host.env), terminalOf(stderr, host.env)]
  let progress = noProgress
  const writeTo = (stream: OutputStream) => (text: string) => {
    progress.makeRoom()
    stream.write(text)
  }
  return {
    host,
    onRunning,
    hangups,
    out: writeTo(stdout),
    err: writeTo(stderr),
    stdout: outTerminal,
    stderr: errTerminal,
    progress: (label) => (progress = showProgress(label, errTerminal, (text) => void stderr.write(text))),
  }
}
