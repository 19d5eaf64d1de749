/** From what a failed nft printed to an NftError. The texts are those of nft 1.0.6 and of the C library. */
import type { ExecResult } from '../../exec/exec.ts'
import { ExecError } from '../../exec/exec.ts'
import { NftError } from '../nft.ts'
import type { NftErrorReason } from '../nft.ts'

/** `doing` completes the sentence "cannot …"; `script` is what nft read, if it read something. */
export function toolError(doing: string, result: ExecResult, script = ''): NftError {
  const [first = '', ...others] = complaintsOf(result, script)
  const more = others.length === 0 ? '' : `; also ${others.join('; ')}`
  return new NftError(reasonOf(result, script), `cannot ${doing}: ${first}${more}`)
}

/** Errors of the Exec become ours; all else, such as the reason of a signal, stays as it is. */
export function startError(doing: string, error: unknown): unknown {
  if (!(error instanceof ExecError)) return error
  const reason = startReasons[error.reason] ?? 'failed'
  return new NftError(reason, `cannot ${doing}: ${error.message}`, { cause: error })
}

const startReasons: Readonly<Partial<Record<ExecError['reason'], NftErrorReason>>> = {
  'not-found': 'no-tool',
  'not-permitted': 'not-permitted',
}

/** What comes after the first failure is often only its consequence, so the first line alone decides. */
function reasonOf({ stderr, signal }: ExecResult, script: string): NftErrorReason {
  const first = firstLine(stderr)
  if (signal !== null) return 'failed'
  if (/cache initialization failed|initialize Netlink socket/i.test(first))
    return /not permitted|Permission denied/.test(first) ? 'not-permitted' : 'no-kernel-support'
  const known = reasonsByText.find(([text]) => first.includes(text))
  if (known !== undefined) return known[1]
  // The kernel has no way to move a chain to another priority, and that is how it says so.
  const place = /^\S+:(\d+):/.exec(first)
  const isChain = place !== null && (lineText(script, Number(place[1])) ?? '').startsWith('add chain')
  return isChain && first.endsWith('Operation not supported') ? 'exists' : 'refused'
}

const reasonsByText: readonly (readonly [string, NftErrorReason])[] = [
  ['No such file or directory', 'missing'],
  ['element does not exist', 'missing'],
  ['File exists', 'exists'],
  ['interval overlaps', 'exists'],
  ['conflicting intervals', 'exists'],
  ['Device or resource busy', 'busy'],
  ['Operation not permitted', 'not-permitted'],
  ['Permission denied', 'not-permitted'],
  ['Cannot allocate memory', 'failed'],
  ['No buffer space available', 'failed'],
  ['Resource temporarily unavailable', 'failed'],
  ['Interrupted system call', 'failed'],
  ['Message too long', 'failed'],
]

const maxComplaints = 5

function complaintsOf({ stderr, exitCode, signal }: ExecResult, script: string): string[] {
  if (signal !== null) return [`nft was killed by ${signal}`]
  const complaints = stderr.split('\n').filter((line) => /\bError: /.test(line))
  const shown = complaints.slice(0, maxComplaints).map((line) => complaintText(line, script))
  if (complaints.length > maxComplaints) shown.push(`${complaints.length - maxComplaints} more`)
  if (shown.length > 0) return shown
  return [firstLine(stderr) || `nft ended with code ${exitCode} and said nothing`]
}

/** `/dev/stdin:3:71-89: Error: …` points into the script; we show what is there. */
function complaintText(complaint: string, script: string): string {
  const [, line, from, to, words] = /^\S+:(\d+):(\d+)-(\d+): Error: (.*)$/.exec(complaint) ?? []
  const text = line === undefined ? undefined : lineText(script, Number(line))
  if (text === undefined || words === undefined) return complaint
  const place = text.slice(Number(from) - 1, Number(to))
  const command = text.split(' { ', 1)[0] ?? ''
  return `"${cut(command)}"${command.includes(place) ? '' : ` with "${cut(place)}"`}: ${words.replace('Could not process rule: ', '')}`
}

function cut(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? ''
}

/** Walks instead of splitting: the script may have 30 MB. */
function lineText(script: string, line: number): string | undefined {
  let start = 0
  for (let n = 1; n < line; n++) {
    const end = script.indexOf('\n', start)
    if (end < 0) return undefined
    start = end + 1
  }
  const end = script.indexOf('\n', start)
  const text = end < 0 ? script.slice(start) : script.slice(start, end)
  return text === '' ? undefined : text
}
