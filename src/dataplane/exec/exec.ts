/** Runs a program to its end. Every kernel tool that Fairlead calls is started here. */
import { spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { findProgram, hiddenNote } from '../../host/find-program.ts'
import { fileToRun, searchPath } from './search-path.ts'

export type Exec = (program: string, args: readonly string[], options: ExecOptions) => Promise<ExecResult>

export interface ExecOptions {
  /** Kills the program. The promise then rejects with the signal's reason, after the program has ended. */
  readonly signal: AbortSignal
  readonly stdin?: string | readonly string[]
  readonly onStart?: (processId: number) => void
  /** Added to the environment of Fairlead itself. */
  readonly env?: Readonly<Record<string, string>>
  readonly timeoutMs?: number
  /** A program that prints more is killed, because a part of its output could be taken for the whole. */
  readonly maxStdoutBytes?: number
  /** Gets the output piece by piece, where it is too large to hold in memory. `stdout` of the result is empty then. */
  readonly onStdout?: (piece: Buffer) => void
}

export interface ExecResult {
  /** Null if a signal ended the program. */
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  /** The first 64 KiB. */
  readonly stderr: string
}

/** The program could not be started, or was killed. A program that ran and failed is an ExecResult. */
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
  const env: NodeJS.ProcessEnv = { ...process.env, PATH: searchPath(process), ...options.env }
  const file = fileToRun(program, env['PATH'] ?? '', process.platform)
  if (file === undefined) throw notFound(program)
  const child = spawn(file, args, { env, stdio: ['pipe', 'pipe', 'pipe'], windowsHide: true })
  if (child.pid !== undefined) options.onStart?.(child.pid)
  let killedFor: Error | undefined
  const kill = (why: Error) => {
    killedFor ??= why
    // The tools that we run have no state of their own to save, so SIGTERM first would gain nothing.
    child.kill('SIGKILL')
  }
  const onAbort = () => kill(options.signal.reason as Error)
  options.signal.addEventListener('abort', onAbort, { once: true })
  const timer =
    options.timeoutMs === undefined
      ? undefined
      : setTimeout(() => kill(timeoutError(program, args, options.timeoutMs ?? 0)), options.timeoutMs)

  const maxStdoutBytes = options.maxStdoutBytes ?? defaultMaxStdoutBytes
  const tooMuch = () => kill(tooMuchOutput(program, args, maxStdoutBytes))
  const stdout = collect(child.stdout, maxStdoutBytes, tooMuch, options.onStdout)
  const stderr = collect(child.stderr, maxStderrBytes, () => {})
  feed(child.stdin, typeof options.stdin === 'string' ? [options.stdin] : (options.stdin ?? []))

  try {
    const { exitCode, signal } = await new Promise<Pick<ExecResult, 'exitCode' | 'signal'>>((resolve, reject) => {
      child.once('error', (cause) => reject(startError(program, env['PATH'], cause)))
      child.once('close', (code, signal) => resolve({ exitCode: code, signal }))
      // A program that we killed may have left children that keep its output open: do not wait for those.
      child.once('exit', (code, signal) => {
        if (killedFor !== undefined) resolve({ exitCode: code, signal })
      })
    })
    if (killedFor !== undefined) throw killedFor
    return { exitCode, signal, stdout: stdout(), stderr: stderr() }
  } finally {
    clearTimeout(timer)
    options.signal.removeEventListener('abort', onAbort)
    for (const stream of child.stdio) stream?.destroy()
  }
}

/** In pieces: encoding a large input at once would block the event loop, and the copy would need memory. */
function feed(stdin: Writable, texts: readonly string[]): void {
  // A program may end before it has read everything, as iptables-restore does at the first bad line. Its exit code is enough.
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

/** Joins short texts and cuts long ones, because each write has a cost. */
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

/** Call the result once the program has ended. */
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
  // Streams fail when we destroy them.
  stream.on('error', () => {})
  return () => Buffer.concat(chunks).toString()
}

function startError(program: string, path: string | undefined, cause: NodeJS.ErrnoException): ExecError {
  if (!['ENOENT', 'EACCES', 'EPERM'].includes(cause.code ?? ''))
    return new ExecError('cannot-start', `cannot start "${program}": ${cause.message}`, { cause })
  const where = findProgram(program, path)
  if (cause.code === 'ENOENT' || where.kind === 'missing') {
    const note = where.kind === 'missing' ? hiddenNote(where) : ''
    return notFound(program, note, { cause })
  }
  return new ExecError('not-permitted', `this user may not run "${where.file}": check its permissions`, { cause })
}

function notFound(program: string, note = '', options?: ErrorOptions): ExecError {
  const wayOut = 'install it, or add its folder to PATH'
  return new ExecError('not-found', `there is no program "${program}"${note}: ${wayOut}`, options)
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
