import type { LoggingConfig } from '../../config/proxy-config.ts'
import { createLogger } from '../../observe/logging/create-logger.ts'
import type { LogOptions, RootLogger } from '../../observe/logging/create-logger.ts'
import type { Host } from './host.ts'

type LoggerHost = Pick<Host, 'process' | 'clock'>

/** The logger that the configuration asks for, on the streams of this process. */
export function loggerFor(config: LoggingConfig, { process: { logStreams, pid }, clock }: LoggerHost): RootLogger {
  return createLogger(logOptions(config), logStreams, { clock, pid })
}

export function logOptions({ format, verbosity, vmodule, flushFrequencyMs, text, json }: LoggingConfig): LogOptions {
  const { splitStream, infoBufferSize } = format === 'json' ? json : text
  return {
    format: format === 'json' ? 'json' : 'text',
    verbosity,
    vmodule,
    flushIntervalMs: flushFrequencyMs,
    splitStream,
    infoBufferBytes: infoBufferSize.bytes,
  }
}

/** For commands that have no more than `-v`. */
export function textLogger(verbosity: number, { process: { logStreams, pid }, clock }: LoggerHost): RootLogger {
  return createLogger(
    { format: 'text', verbosity, vmodule: [], flushIntervalMs: 5_000, splitStream: false, infoBufferBytes: 0 },
    logStreams,
    { clock, pid },
  )
}
