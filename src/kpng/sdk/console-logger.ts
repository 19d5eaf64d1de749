/** A logger for programs that have none: lines on stderr. */
import type { LogFields, Logger } from '../../core/logger.ts'

export interface ConsoleLoggerOptions {
  /** Detail up to this level is shown; 0 shows none. */
  readonly verbosity?: number
  /** Where the lines go. */
  readonly write?: (line: string) => void
}

/** `WARN no contact with the KPNG server … target=… reason="…"`; errors are printed with their stack. */
export function consoleLogger({ verbosity = 0, write = toStderr }: ConsoleLoggerOptions = {}): Logger {
  const withFields = (own: LogFields): Logger => {
    const say = (level: string, message: string, fields: LogFields = {}) => {
      const all = Object.entries({ ...own, ...fields })
      write([level.padEnd(5), message, ...all.map(([name, value]) => `${name}=${valueText(value)}`)].join(' '))
      for (const [, value] of all) if (value instanceof Error) write(value.stack ?? value.message)
    }
    return {
      error: (message, fields) => say('ERROR', message, fields),
      warn: (message, fields) => say('WARN', message, fields),
      info: (message, fields) => say('INFO', message, fields),
      debug: (level, message, fields) => level <= verbosity && say('DEBUG', message, fields),
      wouldShow: (level) => level <= verbosity,
      child: (fields) => withFields({ ...own, ...fields }),
    }
  }
  return withFields({})
}

/** On one line, whatever it contains. */
function valueText(value: unknown): string {
  if (value instanceof Error) return JSON.stringify(value.message)
  if (typeof value === 'string' && /^[\w.:/@-]+$/.test(value)) return value
  return JSON.stringify(value) ?? String(value)
}

function toStderr(line: string): void {
  process.stderr.write(`${line}\n`)
}
