import type { LogFields, Logger } from '../../../core/logger.ts'

export interface LogLine {
  readonly level: 'error' | 'warn' | 'info' | 'debug'
  readonly message: string
  readonly fields: LogFields
}

export class RecordingLogger implements Logger {
  readonly lines: LogLine[] = []

  error(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'error', message, fields })
  }

  warn(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'warn', message, fields })
  }

  info(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'info', message, fields })
  }

  debug(_level: number, message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'debug', message, fields })
  }

  child(): Logger {
    return this
  }

  messages(level: LogLine['level']): readonly string[] {
    return this.lines.filter((line) => line.level === level).map((line) => line.message)
  }
}
