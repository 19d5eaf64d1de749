/** A log message is a constant sentence; the facts go into fields. */
export type LogFields = Readonly<Record<string, unknown>>

export interface Logger {
  /** A person must act. */
  error(message: string, fields?: LogFields): void
  /** Something is ignored or degraded, and why. */
  warn(message: string, fields?: LogFields): void
  /** Life cycle. */
  info(message: string, fields?: LogFields): void
  /** Detail, shown at verbosity `level` (-v) and above: 2 for each sync, 4 for each connection. */
  debug(level: number, message: string, fields?: LogFields): void
  /** Whether such detail may be shown, for facts that cost something to gather. A logger without it may show all. */
  wouldShow?(level: number): boolean
  /** A logger that adds these fields to each line. */
  child(fields: LogFields): Logger
}

export const silentLogger: Logger = {
  error() {},
  warn() {},
  info() {},
  debug() {},
  wouldShow: () => false,
  child: () => silentLogger,
}
