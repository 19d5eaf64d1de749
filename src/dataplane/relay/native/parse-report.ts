/** Reads the line that the native engine writes about one connection (`record.c`). */
import type { Copying, DialAttempt, TcpReport, TcpResult } from '../connection-report.ts'
import { systemError } from './engine-process.ts'

const wordsPerAttempt = 7

/** Why a connection was cut, as the other engines say it. */
const cuts: Readonly<Record<string, string>> = {
  'half-closed': 'half-closed for too long',
  drained: 'its endpoint or its Service is gone',
  stopped: 'the relay stops',
  aged: 'it was too old',
}

export function parseReport(words: readonly string[], service: string): TcpReport {
  const [stage, id = '', client = '', local = '', start, end, result, joined, ...rest] = words
  const [bytesIn, bytesOut, inEnd, outEnd, why = '', errno, ...attempts] = rest
  const error = why === 'broken' ? systemError(Number(errno)).code : cuts[why]
  const copying: Copying = {
    startMs: msOf(joined),
    bytesIn: Number(bytesIn),
    bytesOut: Number(bytesOut),
    ...(inEnd !== '0' && { inEndMs: msOf(inEnd) }),
    ...(outEnd !== '0' && { outEndMs: msOf(outEnd) }),
    ...(error !== undefined && { error }),
  }
  return {
    protocol: 'TCP',
    id,
    hasEnded: stage === 'ended',
    service,
    client,
    local,
    startMs: msOf(start),
    endMs: msOf(end),
    result: result as TcpResult,
    attempts: attemptsOf(attempts),
    ...(joined !== '0' && { copying }),
  }
}

function attemptsOf(words: readonly string[]): readonly DialAttempt[] {
  const count = Math.floor(words.length / wordsPerAttempt)
  return Array.from({ length: count }, (_, index) => attemptOf(words.slice(index * wordsPerAttempt)))
}

function attemptOf([endpoint = '', because, endpoints, timeout, start, end, errno]: readonly string[]): DialAttempt {
  return {
    endpoint,
    isSticky: because === 'affinity',
    endpoints: Number(endpoints),
    timeoutMs: Number(timeout),
    startMs: msOf(start),
    endMs: msOf(end),
    ...(errno !== '0' && { error: systemError(Number(errno)).code }),
  }
}

function msOf(microseconds: string | undefined): number {
  return Number(microseconds) / 1000
}
