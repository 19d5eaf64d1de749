/** Where a log line was written. */
export interface CallSite {
  /** Path or URL of the file. */
  readonly file: string
  readonly line: number
}

/**
 * The caller of `above`. Taking one frame without rendering a stack text costs about three microseconds, so it is only
 * done when a line is written (or when --vmodule needs the file to decide).
 */
export function callSite(above: (...args: never[]) => unknown): CallSite {
  const { stackTraceLimit } = Error
  const prepareBefore = Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace')
  Error.stackTraceLimit = 1
  Error.prepareStackTrace = (_error, frames) => frames[0]
  try {
    const holder: { readonly stack?: NodeJS.CallSite } = {}
    Error.captureStackTrace(holder, above)
    const frame = holder.stack // rendered on first access, so it must be read before the globals are put back
    return { file: frame?.getFileName() ?? '???', line: frame?.getLineNumber() ?? 1 }
  } finally {
    Error.stackTraceLimit = stackTraceLimit
    if (prepareBefore === undefined) Reflect.deleteProperty(Error, 'prepareStackTrace')
    else Object.defineProperty(Error, 'prepareStackTrace', prepareBefore)
  }
}

/** `file.ts` of a path or URL. */
export function baseName(file: string): string {
  return file.slice(lastSeparator(file) + 1)
}

/** `folder/file.ts`, as in Kubernetes' JSON logs. */
export function shortPath(file: string): string {
  const folderEnd = lastSeparator(file)
  return folderEnd < 0 ? file : file.slice(lastSeparator(file.slice(0, folderEnd)) + 1)
}

function lastSeparator(file: string): number {
  return Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\'))
}
