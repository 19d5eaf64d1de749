/** A logger that keeps its lines, for tests about what people get to read. */
import type { LogFields, Logger } from '../logger.ts'

export interface LogLine {
  readonly level: 'error' | 'warn' | 'info' | `debug${number}`
  readonly message: string
  readonly fields: LogFields
}

export class RecordingLogger implements Logger {
  readonly lines: LogLine[]
  readonly #fields: LogFields

  constructor(lines: LogLine[] = [], fields: LogFields = {}) {
    this.lines = lines
    this.#fields = fields
  }

  error(message: string, fields?: LogFields): void {
    this.#add('error', message, fields)
  }

  warn(message: string, fields?: LogFields): void {
    this.#add('warn', message, fields)
  }

  info(message: string, fields?: LogFields): void {
    this.#add('info', message, fields)
  }

  debug(level: number, message: string, fields?: LogFields): void {
    this.#add(`debug${level}`, message, fields)
  }

  /** Writes into the same list. */
  child(fields: LogFields): RecordingLogger {
    return new RecordingLogger(this.lines, { ...this.#fields, ...fields })
  }

  at(level: LogLine['level']): readonly LogLine[] {
    return this.lines.filter((line) => line.level === level)
  }

  #add(level: LogLine['level'], message: string, fields: LogFields = {}): void {
    this.lines.push({ level, message, fields: { ...this.#fields, ...fields } })
  }
}
