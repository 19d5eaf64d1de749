import type { LogFields, Logger } from '../core/logger.ts'
import type { Program } from './program.ts'
import { paint } from './terminal.ts'

/** For commands a person runs by hand: one readable line each, nothing that is only detail. */
export function plainLogger({ err, stderr }: Pick<Program, 'err' | 'stderr'>): Logger {
  const line =
    (level: string) =>
    (message: string, fields: LogFields = {}) => {
      const facts = Object.entries(fields).map(([name, value]) => `${name}=${textOf(value)}`)
      err(`${[`${level} ${message}`, ...facts].join(' ')}\n`)
    }
  const logger: Logger = {
    error: line(paint(stderr, 'red', 'error:')),
    warn: line(paint(stderr, 'yellow', 'warning:')),
    info: line('note:'),
    debug() {},
    child: () => logger,
  }
  return logger
}

function textOf(value: unknown): string {
  if (value instanceof Error) return JSON.stringify(value.message)
  return JSON.stringify(value) ?? String(value)
}
