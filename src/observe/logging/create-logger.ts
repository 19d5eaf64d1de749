import type { Clock } from '../../core/clock.ts'
import type { LogFields, Logger } from '../../core/logger.ts'
import { callSite, type CallSite } from './call-site.ts'
import { renderJsonLine } from './json-line.ts'
import { renderKlogLine } from './klog-line.ts'
import type { LogRecord } from './log-record.ts'
import { LogSink, type LogSinkOptions, type LogStreams } from './log-sink.ts'
import { verbosityByFile, type VmoduleRule } from './vmodule.ts'

export interface LogOptions extends LogSinkOptions {
  readonly format: 'text' | 'json'
  /** -v */
  readonly verbosity: number
  readonly vmodule: readonly VmoduleRule[]
}

/** The logger of the process, which the command line and /debug/flags/v can change. */
export interface RootLogger extends Logger {
  readonly verbosity: number
  setVerbosity(verbosity: number): void
  /** From now on, for all its children too. The verbosity that somebody has set stays, unless the option changes. */
  configure(options: LogOptions): void
  /** Writes buffered lines; called last, before the process ends. */
  flush(): void
}

export function createLogger(
  first: LogOptions,
  streams: LogStreams,
  { clock, pid }: { readonly clock: Clock; readonly pid: number },
): RootLogger {
  let options = first
  let sink = new LogSink(options, streams, clock)
  const now = microsecondClock(clock)
  let { verbosity } = options
  let verbosityOfFile = rulesOf(options)

  function write(record: Omit<LogRecord, 'atMs'>): void {
    const stamped = { ...record, bound: withErr(record.bound), fields: withErr(record.fields), atMs: now() }
    sink.write(record.severity, options.format === 'json' ? renderJsonLine(stamped) : renderKlogLine(stamped, pid))
  }

  function loggerWith(bound: LogFields): Logger {
    function error(message: string, fields: LogFields = {}): void {
      write({ severity: 'error', level: 0, message, bound, fields, caller: callSite(error) })
    }
    function warn(message: string, fields: LogFields = {}): void {
      write({ severity: 'warn', level: 0, message, bound, fields, caller: callSite(warn) })
    }
    function info(message: string, fields: LogFields = {}): void {
      write({ severity: 'info', level: 0, message, bound, fields, caller: callSite(info) })
    }
    function debug(level: number, message: string, fields: LogFields = {}): void {
      let caller: CallSite | undefined
      if (level > verbosity) {
        if (verbosityOfFile === undefined) return
        caller = callSite(debug)
        if (level > (verbosityOfFile(caller.file) ?? -1)) return
      }
      write({ severity: 'info', level, message, bound, fields, caller: caller ?? callSite(debug) })
    }
    // With rules by file, any line may be shown.
    const wouldShow = (level: number) => level <= verbosity || verbosityOfFile !== undefined
    return { error, warn, info, debug, wouldShow, child: (fields) => loggerWith({ ...bound, ...fields }) }
  }

  return {
    ...loggerWith({}),
    get verbosity() {
      return verbosity
    },
    setVerbosity: (next) => {
      verbosity = next
    },
    configure(next) {
      if (next.verbosity !== options.verbosity) verbosity = next.verbosity
      options = next
      verbosityOfFile = rulesOf(next)
      sink.flush()
      sink = new LogSink(next, streams, clock)
    },
    flush: () => sink.flush(),
  }
}

function rulesOf({ vmodule }: LogOptions): ReturnType<typeof verbosityByFile> | undefined {
  return vmodule.length === 0 ? undefined : verbosityByFile(vmodule)
}

/** Our code says `error`; Kubernetes' logs, and the tools that read them, say `err`. */
function withErr(fields: LogFields): LogFields {
  if (!('error' in fields)) return fields
  const { error, ...others } = fields
  return { err: error, ...others }
}

/**
 * The wall clock with microseconds, so that lines written within one millisecond keep their order. JavaScript's wall
 * clock counts whole milliseconds. The fraction comes from the monotonic clock, and the offset is taken again when the
 * two drift apart (somebody set the time).
 */
function microsecondClock(clock: Clock): () => number {
  let offset = clock.now() - clock.monotonic()
  return () => {
    const wall = clock.now()
    const fine = offset + clock.monotonic()
    if (Math.abs(fine - wall) < 2) return fine
    offset = wall - clock.monotonic()
    return wall
  }
}
