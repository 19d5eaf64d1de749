/** Runs a program to its end. Every kernel tool that Fairlead calls is started here and nowhere else. */
import { spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'

export type Exec = (program: string, args: readonly string[], options: ExecOptions) => Promise<ExecResult>

export interface ExecOptions {
  /** Ends the program at once. The promise then rejects with the signal's reason, after the program is gone. */
  readonly signal: AbortSignal
  readonly stdin?: string
  /** Called with the id of the process as soon as it has one. */
  readonly onStart?: (processId: number) => void
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>
  readonly timeoutMs?: number
  /** A program that prints more is ended: half an answer is worse than none. */
  readonly maxStdoutBytes?: number
}

export interface ExecResult {
  /** Null when a signal ended the program. */
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  /** The first 64 KiB. */
  readonly stderr: string
}

/** The program did not run to its end by itself. A program that ran and failed is an ExecResult. */
export class ExecError extends Error {
  override readonly name = 'ExecError'
  readonly reason: 'not-found' | 'not-permitted' | 'timeout' | 'too-much-output' | 'cannot-start'

  constructor(reason: ExecError['reason'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

const defaultMaxStdoutBytes = 1 << 20
const maxStderrBytes = 64 << 10

export const processExec: Exec = async (program, args, options) => {
  options.signal.throwIfAborted()
  const child = spawn(program, args, {
    env: { ...process.env, PATH: searchPath(process.env['PATH']), ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  if (child.pid !== undefined) options.onStart?.(child.pid)
  /** Why we ended the program, when we did. */
  let ended: Error | undefined
  const end = (why: Error) => {
    ended ??= why
    // The tools that we run hold no state of their own, so nothing is gained by asking them nicely first.
    child.kill('SIGKILL')
  }
  const onAbort = () => end(options.signal.reason as Error)
  options.signal.addEventListener('abort', onAbort, { once: true })
  const timer =
    options.timeoutMs === undefined
      ? undefined
      : setTimeout(() => end(timeoutError(program, args, options.timeoutMs ?? 0)), options.timeoutMs)

  const maxStdoutBytes = options.maxStdoutBytes ?? defaultMaxStdoutBytes
  const stdout = collect(child.stdout, maxStdoutBytes, () => end(tooMuchOutput(program, args, maxStdoutBytes)))
  const stderr = collect(child.stderr, maxStderrBytes, () => {})
  feed(child.stdin, options.stdin ?? '')

  try {
    const { exitCode, signal } = await new Promise<Pick<ExecResult, 'exitCode' | 'signal'>>((resolve, reject) => {
      child.once('error', (cause) => reject(startError(program, cause)))
      child.once('close', (code, signal) => resolve({ exitCode: code, signal }))
      // A program that we ended may have left children that hold its output open: do not wait for those.
      child.once('exit', (code, signal) => {
        if (ended !== undefined) resolve({ exitCode: code, signal })
      })
    })
    if (ended !== undefined) throw ended
    return { exitCode, signal, stdout: stdout(), stderr: stderr() }
  } finally {
    clearTimeout(timer)
    options.signal.removeEventListener('abort', onAbort)
    for (const stream of child.stdio) stream?.destroy()
  }
}

/** A service's PATH often has no sbin, where the tools are. */
function searchPath(path: string | undefined): string {
  const folders = (path ?? '').split(':').filter((folder) => folder !== '')
  const system = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/local/bin', '/usr/bin', '/bin']
  return [...new Set([...folders, ...system])].join(':')
}

/** Written piece by piece, so that encoding a large input never holds up the event loop. */
function feed(stdin: Writable, text: string): void {
  // A program may end before it has read everything, as iptables-restore does at the first bad line. Its exit code tells.
  stdin.on('error', () => {})
  const pieceLength = 1 << 19
  let at = 0
  const writeOn = () => {
    while (at < text.length) {
      let next = Math.min(at + pieceLength, text.length)
      if (isHighSurrogate(text.charCodeAt(next - 1))) next++
      const hasRoom = stdin.write(text.slice(at, next))
      at = next
      if (!hasRoom) {
        stdin.once('drain', writeOn)
        return
      }
    }
    stdin.end()
  }
  writeOn()
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

/** Gathers what the stream says, up to `maxBytes`; the result is read once the program has ended. */
function collect(stream: Readable, maxBytes: number, onOverflow: () => void): () => string {
  const chunks: Buffer[] = []
  let bytes = 0
  stream.on('data', (chunk: Buffer) => {
    if (bytes + chunk.length > maxBytes) {
      chunk = chunk.subarray(0, maxBytes - bytes)
      onOverflow()
    }
    bytes += chunk.length
    if (chunk.length > 0) chunks.push(chunk)
  })
  // A stream that we destroyed ourselves is no news.
  stream.on('error', () => {})
  return () => Buffer.concat(chunks, bytes).toString()
}

function startError(program: string, cause: NodeJS.ErrnoException): ExecError {
  if (cause.code === 'ENOENT')
    return new ExecError('not-found', `there is no program "${program}": install it, or add its folder to PATH`, {
      cause,
    })
  if (cause.code === 'EACCES' || cause.code === 'EPERM')
    return new ExecError('not-permitted', `this user may not run "${program}": check its permissions`, { cause })
  return new ExecError('cannot-start', `cannot start "${program}": ${cause.message}`, { cause })
}

function timeoutError(program: string, args: readonly string[], timeoutMs: number): ExecError {
  return new ExecError('timeout', `ended "${commandLine(program, args)}": it ran longer than ${timeoutMs} ms`)
}

function tooMuchOutput(program: string, args: readonly string[], maxBytes: number): ExecError {
  return new ExecError(
    'too-much-output',
    `ended "${commandLine(program, args)}": it printed more than ${maxBytes} bytes`,
  )
}

function commandLine(program: string, args: readonly string[]): string {
  return [program, ...args].join(' ')
}
