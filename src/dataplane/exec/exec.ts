/** Runs a program to its end. Every kernel tool that Fairlead calls is started here and nowhere else. */
import { spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { findProgram, hiddenNote } from '../../host/find-program.ts'

export type Exec = (program: string, args: readonly string[], options: ExecOptions) => Promise<ExecResult>

export interface ExecOptions {
  /** Ends the program at once. The promise then rejects with the signal's reason, after the program is gone. */
  readonly signal: AbortSignal
  /** Pieces are written one after the other. */
  readonly stdin?: string | readonly string[]
  /** Called with the id of the process as soon as it has one. */
  readonly onStart?: (processId: number) => void
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>
  readonly timeoutMs?: number
  /** A program that prints more is ended: half an answer is worse than none. */
  readonly maxStdoutBytes?: number
  /** Gets what the program prints as it comes, for output that nobody should hold whole. The result's is empty then. */
  readonly onStdout?: (piece: Buffer) => void
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
  const env: NodeJS.ProcessEnv = { ...process.env, PATH: searchPath(process.env['PATH']), ...options.env }
  const child = spawn(program, args, {
    env,
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
  const tooMuch = () => end(tooMuchOutput(program, args, maxStdoutBytes))
  const stdout = collect(child.stdout, maxStdoutBytes, tooMuch, options.onStdout)
  const stderr = collect(child.stderr, maxStderrBytes, () => {})
  feed(child.stdin, typeof options.stdin === 'string' ? [options.stdin] : (options.stdin ?? []))

  try {
    const { exitCode, signal } = await new Promise<Pick<ExecResult, 'exitCode' | 'signal'>>((resolve, reject) => {
      child.once('error', (cause) => reject(startError(program, env['PATH'], cause)))
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

/** Never all of it at once: encoding a large input would hold up the event loop, and its copy would need memory. */
function feed(stdin: Writable, texts: readonly string[]): void {
  // A program may end before it has read everything, as iptables-restore does at the first bad line. Its exit code tells.
  stdin.on('error', () => {})
  const pieces = evenPieces(texts)
  const writeOn = () => {
    for (let piece = pieces.next(); piece.done !== true; piece = pieces.next())
      if (!stdin.write(piece.value)) {
        stdin.once('drain', writeOn)
        return
      }
    stdin.end()
  }
  writeOn()
}

/** Short ones together and long ones cut, because each write costs something. */
function* evenPieces(texts: readonly string[]): Generator<string> {
  const pieceLength = 1 << 18
  let waiting: string[] = []
  let waitingLength = 0
  for (const text of texts) {
    waiting.push(text)
    waitingLength += text.length
    if (waitingLength < pieceLength) continue
    yield* cut(waiting.join(''), pieceLength)
    waiting = []
    waitingLength = 0
  }
  if (waitingLength > 0) yield waiting.join('')
}

function* cut(text: string, pieceLength: number): Generator<string> {
  for (let at = 0; at < text.length;) {
    let next = Math.min(at + pieceLength, text.length)
    if (isHighSurrogate(text.charCodeAt(next - 1))) next++
    yield text.slice(at, next)
    at = next
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

/** Gathers what the stream says, up to `maxBytes`; the result is read once the program has ended. */
function collect(
  stream: Readable,
  maxBytes: number,
  onOverflow: () => void,
  onChunk?: (chunk: Buffer) => void,
): () => string {
  const chunks: Buffer[] = []
  const take = onChunk ?? ((chunk: Buffer) => void chunks.push(chunk))
  let bytes = 0
  stream.on('data', (chunk: Buffer) => {
    if (bytes + chunk.length > maxBytes) {
      chunk = chunk.subarray(0, maxBytes - bytes)
      onOverflow()
    }
    bytes += chunk.length
    if (chunk.length > 0) take(chunk)
  })
  // A stream that we destroyed ourselves is no news.
  stream.on('error', () => {})
  return () => Buffer.concat(chunks).toString()
}

function startError(program: string, path: string | undefined, cause: NodeJS.ErrnoException): ExecError {
  if (!['ENOENT', 'EACCES', 'EPERM'].includes(cause.code ?? ''))
    return new ExecError('cannot-start', `cannot start "${program}": ${cause.message}`, { cause })
  const where = findProgram(program, path)
  if (cause.code === 'ENOENT' || where.kind === 'missing') {
    const note = where.kind === 'missing' ? hiddenNote(where) : ''
    const wayOut = 'install it, or add its folder to PATH'
    return new ExecError('not-found', `there is no program "${program}"${note}: ${wayOut}`, { cause })
  }
  return new ExecError('not-permitted', `this user may not run "${where.file}": check its permissions`, { cause })
}

function timeoutError(program: string, args: readonly string[], timeoutMs: number): ExecError {
  return new ExecError('timeout', `killed "${commandLine(program, args)}": it ran longer than ${timeoutMs} ms`)
}

function tooMuchOutput(program: string, args: readonly string[], maxBytes: number): ExecError {
  return new ExecError(
    'too-much-output',
    `killed "${commandLine(program, args)}": it printed more than ${maxBytes} bytes`,
  )
}

function commandLine(program: string, args: readonly string[]): string {
  return [program, ...args].join(' ')
}
