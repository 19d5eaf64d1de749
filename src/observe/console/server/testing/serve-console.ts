/** A console on its own port, which is closed with the test. */
import { onTestFinished } from 'vitest'
import { FakeClock } from '../../../../core/testing/fake-clock.ts'
import { RecordingLogger } from '../../../../core/testing/recording-logger.ts'
import type { DebugPage } from '../../../http/debug/debug-page.ts'
import { listenHttp } from '../../../http/http-server.ts'
import { rawRequest } from '../../../http/testing/raw-request.ts'
import type { RawRequest } from '../../../http/testing/raw-request.ts'
import type { LiveTopic } from '../../live-topic.ts'
import type { About } from '../../wire.ts'
import { ConsoleAccess } from '../console-access.ts'
import type { CurrentToken } from '../console-access.ts'
import { consoleHandler } from '../console-handler.ts'
import type { DemoActions } from '../console-handler.ts'
import { LiveStreams } from '../live-streams.ts'

export interface ServedConsole {
  readonly ip?: string
  readonly url?: string
  readonly token?: CurrentToken
  readonly topics?: readonly LiveTopic[]
  readonly demo?: DemoActions
}

export const script = 'assets/console-0123456789ab.js'
export const aboutNode: About = {
  kind: 'node',
  isDemo: false,
  version: '0.0.0',
  process: 'p',
  startedAt: '2026-11-16T19:00:00.000Z',
  families: ['ipv4'],
  topics: [],
  debugPages: ['/debug/echo'],
}

const echo: DebugPage = {
  path: '/debug/echo',
  about: 'what was asked',
  answer: async ({ query }) => ({ kind: 'json', value: Object.fromEntries(query) }),
}

export async function serveConsole({ ip = '127.0.0.1', url, token, topics = [], demo }: ServedConsole = {}) {
  const clock = new FakeClock()
  const log = new RecordingLogger()
  const streams = new LiveStreams({ about: () => aboutNode, topics, clock, log })
  let reads = 0
  const files = async () => {
    reads++
    return new Map([
      ['index.html', Buffer.from('<!doctype html><title>Fairlead</title>')],
      [script, Buffer.from('export {}'.repeat(100))],
    ])
  }
  const handler = consoleHandler({
    place: { ip, hasTls: false, url: url === undefined ? undefined : new URL(url) },
    access: new ConsoleAccess(token, clock),
    streams,
    files,
    pages: [echo],
    demo,
    clock,
    log,
  })
  const listener = await listenHttp({ what: 'the console', bind: { ip, port: 0 }, handler, answersPages: true, log })
  onTestFinished(() => listener[Symbol.asyncDispose]())
  const { address } = listener
  const ask = (path: string, request: RawRequest = {}) => rawRequest(address, path, { host: '127.0.0.1', ...request })
  const post = (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
    ask(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  return { address, listener, clock, log, streams, ask, post, reads: () => reads }
}
