import type { ChangeSet } from '../../kpng/client/change-set.ts'
import { BackendDriver } from '../../kpng/sdk/backend-driver.ts'
import type { Program } from '../program.ts'
import type { Runnable } from '../run-all.ts'
import { incomplete } from './sink-context.ts'
import type { SinkContext } from './sink-context.ts'
import { ExecBackend } from './to-exec.ts'
import { printChanges } from './to-local.ts'
import { loadBackend } from './to-module.ts'

/** What is done with the state of a node. */
export interface LocalSink extends AsyncDisposable {
  apply(changes: ChangeSet, signal: AbortSignal): Promise<void>
  /** What must run beside it. */
  readonly parts: readonly Runnable[]
  /** Why what was applied last is not in force. */
  problem(): string | undefined
}

/** A mistake in the command line shows now, before anything is asked of a server. */
export async function openLocalSink(context: SinkContext, node: string, signal: AbortSignal): Promise<LocalSink> {
  switch (context.line.sink) {
    case 'to-exec':
      return execSink(context, node)
    case 'to-module':
      return moduleSink(context, node, signal)
    default:
      return printSink(context.program)
  }
}

function execSink({ line, values, log, program }: SinkContext, node: string): LocalSink {
  const { env, clock } = program.host
  const answerWithinMs = values['answer-within']
  const backend = new ExecBackend({ command: line.command, node, answerWithinMs, env, clock, log })
  return {
    apply: (changes, until) => backend.apply(changes, until),
    parts: [backend],
    problem: () => backend.problem,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

async function moduleSink({ line, log, program }: SinkContext, node: string, signal: AbortSignal): Promise<LocalSink> {
  const driver = new BackendDriver(await loadBackend(line.command), { node, log, signal }, program.host.clock)
  return {
    apply: (changes) => driver.apply(changes),
    parts: [],
    problem: () => driver.problem,
    [Symbol.asyncDispose]: () => driver[Symbol.asyncDispose](),
  }
}

function printSink(program: Program): LocalSink {
  let hasPrinted = false
  return {
    apply(changes) {
      printChanges(changes, program)
      hasPrinted = true
      return Promise.resolve()
    },
    parts: [],
    problem: () => (hasPrinted ? undefined : incomplete),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}
