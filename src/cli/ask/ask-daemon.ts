/**
 * How the commands ask a running proxy for one of its pages: at the address that the user names, or else at the usual
 * socket and then at the metrics port, which needs no rights.
 */
import type { DebugAnswer } from '../../observe/http/debug/debug-page.ts'
import type { Host } from '../host/host.ts'
import { CommandError } from '../program.ts'
import { httpGet } from './http-get.ts'
import type { HttpAnswer } from './http-get.ts'
import { parseServer, serverText, usualAddresses } from './server-address.ts'
import type { ServerAddress } from './server-address.ts'
import { parseVisible, visible } from '../visible.ts'

export type AskingHost = Pick<Host, 'platform' | 'env' | 'clock'> & {
  readonly process: Pick<Host['process'], 'isRoot'>
}

export interface AskOptions {
  /** The value of `--server`; empty: wherever there is one. */
  readonly server: string
  readonly host: AskingHost
}

/** Longer than the proxy takes to say that a page takes too long. */
const patienceMs = 30_000
const longestWaitMs = 5000

/** The page's answer; `refused` is what the page itself says. Whatever is in the way is a CommandError. */
export async function askDaemon(
  path: string,
  query: Readonly<Record<string, string>>,
  { server, host }: AskOptions,
  signal: AbortSignal,
): Promise<DebugAnswer> {
  const target = `${path}?${new URLSearchParams({ pretty: 'false', ...query }).toString()}`
  if (server !== '') {
    const address = parseServer(server, host.platform)
    const tried = await ask(address, target, host, signal)
    if (tried.kind === 'answer') return answerOf(tried.answer, address)
    throw new CommandError(`cannot ask ${serverText(address)}: ${advice(tried, host, address)}`, { cause: tried.cause })
  }
  const failures: Failure[] = []
  const addresses = usualAddresses(host)
  for (const address of addresses) {
    const tried = await ask(address, target, host, signal)
    if (tried.kind === 'answer') return answerOf(tried.answer, address)
    failures.push(tried)
  }
  throw new CommandError(nobodyThere(addresses, failures, host), { cause: failures[0]?.cause })
}

/** For pages that answer in JSON: what the page refuses is a CommandError too. */
export async function askForJson(...question: Parameters<typeof askDaemon>): Promise<unknown> {
  const answer = await askDaemon(...question)
  if (answer.kind === 'refused') throw new CommandError(answer.message)
  return answer.kind === 'json' ? answer.value : answer.text
}

interface Failure {
  readonly kind: 'nobody' | 'not-permitted' | 'failed'
  readonly cause: Error
}

type Tried = { readonly kind: 'answer'; readonly answer: HttpAnswer } | Failure

async function ask(address: ServerAddress, target: string, { clock }: AskingHost, signal: AbortSignal): Promise<Tried> {
  try {
    const first = await get(address, target, signal)
    if (first.status !== 429) return { kind: 'answer', answer: first }
    await clock.sleep(Math.min(longestWaitMs, Number(first.headers['retry-after'] ?? 1) * 1000 || 1000), signal)
    return { kind: 'answer', answer: await get(address, target, signal) }
  } catch (error) {
    if (signal.aborted || !(error instanceof Error)) throw error
    return { kind: kindOf(error), cause: error }
  }
}

function get(address: ServerAddress, target: string, signal: AbortSignal): Promise<HttpAnswer> {
  return httpGet(address, target, AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]))
}

function kindOf(error: NodeJS.ErrnoException): Failure['kind'] {
  if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED' || error.code === 'ENOTSOCK') return 'nobody'
  return error.code === 'EACCES' || error.code === 'EPERM' ? 'not-permitted' : 'failed'
}

function answerOf({ status, headers, body }: HttpAnswer, address: ServerAddress): DebugAnswer {
  const where = serverText(address)
  const message = visible(body.trim())
  // Before a page is found, who asks is checked: by the metrics server, which has no header of its own.
  if (status === 403) throw new CommandError(`${where} does not answer: ${message.slice(0, 300)}`)
  if (headers.server !== 'fairlead')
    throw new CommandError(
      `what answers at ${where} is not Fairlead, or an older one (HTTP ${status}): name the proxy with --server`,
    )
  if (status === 400 || status === 404) return { kind: 'refused', status, message }
  if (status !== 200) throw new CommandError(`${where} does not answer: ${message} (HTTP ${status})`)
  return headers['content-type'] === 'application/json'
    ? { kind: 'json', value: parseVisible(body) }
    : { kind: 'text', text: visible(body) }
}

function advice({ kind, cause }: Failure, host: AskingHost, address: ServerAddress): string {
  switch (kind) {
    case 'nobody':
      return `no proxy is there; start one, or name another with --server${address.kind === 'http' ? '' : ' (its --debug-socket)'}`
    case 'not-permitted':
      return permissionAdvice(host)
    case 'failed':
      return cause.name === 'TimeoutError' ? `no answer within ${patienceMs / 1000} s` : cause.message
    default:
      return kind satisfies never
  }
}

function permissionAdvice({ platform }: AskingHost): string {
  if (platform === 'win32')
    return 'not permitted; run as administrator, or ask over HTTP: --server=http://127.0.0.1:10249'
  return 'not permitted; use sudo, join the group of its --debug-socket-group, or ask over HTTP: --server=http://127.0.0.1:10249'
}

function nobodyThere(addresses: readonly ServerAddress[], failures: readonly Failure[], host: AskingHost): string {
  const tried = addresses.map((address, index) => {
    const failure = failures[index]
    const why =
      failure === undefined || failure.kind === 'nobody'
        ? 'nobody'
        : (shortReason[failure.kind] ?? failure.cause.message)
    return `${serverText(address)} (${why})`
  })
  const isClosed = failures.some(({ kind }) => kind === 'not-permitted')
  const wayOut = isClosed
    ? permissionAdvice(host).replace('not permitted; ', '')
    : 'start one on this node, or name its address with --server (unix:///PATH or http://127.0.0.1:PORT)'
  return `no running proxy answers: tried ${tried.join(', ')}; ${wayOut}`
}

const shortReason: Partial<Record<Failure['kind'], string>> = { 'not-permitted': 'not permitted' }
