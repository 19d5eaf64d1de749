import type { LoggingConfig } from '../../config/proxy-config.ts'
import { systemClock } from '../../core/clock.ts'
import { createLogger } from '../../observe/logging/create-logger.ts'
import type { RootLogger } from '../../observe/logging/create-logger.ts'

/** The logger that the configuration asks for, on the streams of this process. */
export function loggerFor({ format, verbosity, vmodule, flushFrequencyMs, text, json }: LoggingConfig): RootLogger {
  const { splitStream, infoBufferSize } = format === 'json' ? json : text
  return createLogger(
    {
      format: format === 'json' ? 'json' : 'text',
      verbosity,
      vmodule,
      flushIntervalMs: flushFrequencyMs,
      splitStream,
      infoBufferBytes: infoBufferSize.bytes,
    },
    { stdout: process.stdout, stderr: process.stderr },
    { clock: systemClock, pid: process.pid },
  )
}
