/**
 * Everything below `/debug/` that explains what the proxy does. The pages are for people and for Fairlead's own commands
 * on this machine. They read only, and no number of questions may keep the proxy from its work: there is a limit for how
 * many are asked, how much work they make, how long each may take, how many wait for one page, and how long an answer may
 * be.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { performance } from 'node:perf_hooks'
import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/logger.ts'
import { noSniff, plainText, reply, requestTarget } from '../reply.ts'
import type { HttpHandler } from '../reply.ts'
import type { DebugAnswer, DebugPage, DebugRequest } from './debug-page.ts'
import { TokenBucket } from './token-bucket.ts'
import type { Rate } from './token-bucket.ts'

export const debugPrefix = '/debug/'

export interface DebugLimits {
  readonly rate: Rate
  /** In milliseconds that the process is busy while it answers: with 50,000 Services, one question may take a second. */
  readonly work: Rate
  /** Answers of one page that are under way. */
  readonly perPage: number
  readonly timeMs: number
  /** Characters of one answer. */
  readonly size: number
}

/** Whoever reaches the port from this machine may ask, also without any right on it. */
export const limitsOnPort: DebugLimits = {
  rate: { burst: 20, perSecond: 5 },
  work: { burst: 1000, perSecond: 200 },
  perPage: 4,
  timeMs: 20_000,
  size: 16 * 1024 * 1024,
}

/** Whoever may use the socket may do worse. */
export const limitsOnSocket: DebugLimits = {
  ...limitsOnPort,
  rate: { burst: 200, perSecond: 100 },
  work: { burst: Infinity, perSecond: 1 },
  perPage: 16,
}

export interface DebugHandlerOptions {
  readonly pages: readonly DebugPage[]
  readonly limits: DebugLimits
  readonly clock: Clock
  readonly log: Logger
  /** How long the process has been busy so far. */
  readonly busyMs?: () => number
}

/** Tells Fairlead's commands that they ask the right program. */
const fromFairlead = { Server: 'fairlead' } as const

export function debugHandler({ pages, limits, clock, log, busyMs = loopActiveMs }: DebugHandlerOptions): HttpHandler {
  const all = [indexPage(pages), ...pages]
  const questions = new TokenBucket(limits.rate, clock)
  const work = new TokenBucket(limits.work, clock)
  const underWay = new Map<DebugPage, number>()

  return async (request, response) => {
    const { path, query } = requestTarget(request)
    const refuse = (status: number, message: string, headers = {}) =>
      reply(response, status, { 'Content-Type': plainText, ...noSniff, ...fromFairlead, ...headers }, `${message}\n`)

    if (request.method !== 'GET') return refuse(405, 'the pages below /debug/ only answer GET', { Allow: 'GET' })
    const waitMs = work.waitMs() || questions.take()
    if (waitMs > 0) {
      const seconds = Math.ceil(waitMs / 1000)
      return refuse(429, `too many questions: ask again in ${seconds} s`, { 'Retry-After': String(seconds) })
    }
    const found = findPage(all, path)
    if (found === undefined) return refuse(404, `there is no page ${path}; ${debugPrefix} lists those that there are`)
    const { page, rest } = found
    const others = underWay.get(page) ?? 0
    if (others >= limits.perPage)
      return refuse(429, `${others} questions to ${page.path} wait for their answer: ask again when they have it`, {
        'Retry-After': '1',
      })

    underWay.set(page, others + 1)
    const busyBeforeMs = busyMs()
    try {
      const answer = await inTime(page.answer.bind(page), { rest, query }, { limits, clock, request, response })
      if (answer === 'gone') return
      if (answer === 'late')
        return refuse(
          503,
          `the answer took longer than ${limits.timeMs / 1000} s; the proxy itself is not stopped by it`,
        )
      if (answer.kind === 'refused') return refuse(answer.status, answer.message)
      const body = bodyOf(answer, query)
      if (body.length > limits.size)
        return refuse(400, `the answer has ${body.length} characters, ${limits.size} are allowed: ${askForLess(page)}`)
      const type = answer.kind === 'json' ? 'application/json' : plainText
      reply(response, 200, { 'Content-Type': type, ...noSniff, ...fromFairlead }, body)
    } catch (error) {
      log.error('cannot answer a question', { page: page.path, url: request.url, error })
      refuse(500, 'internal error, see the log')
    } finally {
      work.spend(busyMs() - busyBeforeMs)
      // It may still be at work, after its time has passed: it has been told to stop.
      underWay.set(page, (underWay.get(page) ?? 1) - 1)
    }
  }
}

/** Also with what the proxy did meanwhile: while it is busy, questions can wait. */
function loopActiveMs(): number {
  return performance.eventLoopUtilization().active
}

function askForLess({ shorter = 'with ?limit=, ?namespace= or without ?full' }: DebugPage): string {
  return `ask for less, for example ${shorter}`
}

interface Asked {
  readonly limits: DebugLimits
  readonly clock: Clock
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

async function inTime(
  answer: DebugPage['answer'],
  question: DebugRequest,
  { limits, clock, response }: Asked,
): Promise<DebugAnswer | 'gone' | 'late'> {
  const ended = new AbortController()
  const timer = new AbortController()
  const late = clock.sleep(limits.timeMs, timer.signal).then(
    () => 'late' as const,
    () => new Promise<never>(() => {}),
  )
  const gone = new Promise<'gone'>((resolve) => response.once('close', () => resolve('gone')))
  const answered = answer(question, ended.signal)
  // Nobody waits for it once it is late or the client is gone, and then it may well fail.
  answered.catch(() => {})
  try {
    return await Promise.race([answered, late, gone])
  } finally {
    timer.abort()
    ended.abort(new Error('nobody waits for the answer any more'))
  }
}

/** For people, unless a program asks for `?pretty=false`. */
function bodyOf(answer: Exclude<DebugAnswer, { readonly kind: 'refused' }>, query: URLSearchParams): string {
  if (answer.kind === 'text') return answer.text.endsWith('\n') ? answer.text : `${answer.text}\n`
  return `${JSON.stringify(answer.value, undefined, query.get('pretty') === 'false' ? 0 : 2)}\n`
}

function findPage(
  pages: readonly DebugPage[],
  path: string,
): { readonly page: DebugPage; readonly rest: readonly string[] } | undefined {
  for (const page of pages) {
    if (path === page.path) return { page, rest: [] }
    if (!page.path.endsWith('/') || page.path === debugPrefix || !path.startsWith(page.path)) continue
    const rest = decoded(path.slice(page.path.length))
    if (rest !== undefined) return { page, rest }
  }
  return undefined
}

function decoded(text: string): readonly string[] | undefined {
  try {
    return text.split('/').map(decodeURIComponent)
  } catch {
    return undefined // a lone % names nothing
  }
}

function indexPage(pages: readonly DebugPage[]): DebugPage {
  const value = { pages: Object.fromEntries(pages.map(({ path, about }) => [path, about])) }
  return { path: debugPrefix, about: 'this list', answer: async () => ({ kind: 'json', value }) }
}
