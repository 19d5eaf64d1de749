import { readTraceTarget } from '../../observe/tracing/otlp/otlp-settings.ts'
import type { TraceTarget } from '../../observe/tracing/otlp/otlp-settings.ts'
import { CommandError } from '../program.ts'

/** Where the flag and the environment want traces to go. A mistake ends the command. */
export function traceTarget(endpointFlag: string, env: NodeJS.ProcessEnv): TraceTarget {
  const read = readTraceTarget(endpointFlag, env)
  if (!read.ok) throw new CommandError(read.problem)
  return read.target
}
