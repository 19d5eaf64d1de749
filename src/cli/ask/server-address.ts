/** Where a proxy can be asked: its socket, or the metrics port. */
import { posix } from 'node:path'
import { socketText } from '../../http/local-socket.ts'
import type { LocalSocket } from '../../http/local-socket.ts'
import { parsePipe, socketProblem } from '../../http/named-pipe.ts'
import type { Host } from '../host/host.ts'
import { CommandError } from '../program.ts'

export type ServerAddress = LocalSocket | { readonly kind: 'http'; readonly url: URL }

type SocketHost = Pick<Host, 'platform' | 'env'> & { readonly process: Pick<Host['process'], 'isRoot'> }

const socketOfRoot: LocalSocket = { kind: 'unix', path: '/run/fairlead/fairlead.sock' }
const pipeOfWindows: LocalSocket = { kind: 'pipe', path: String.raw`\\.\pipe\fairlead` }

/** Where a proxy listens that was not told where; undefined: nowhere. */
export function usualSocket({ platform, env, process }: SocketHost): LocalSocket | undefined {
  if (platform === 'win32') return pipeOfWindows
  return platform === 'linux' && process.isRoot ? socketOfRoot : socketOfUser(env)
}

/** Where to look for a proxy, when nobody says where it is. */
export function usualAddresses(host: SocketHost): readonly ServerAddress[] {
  const sockets = host.platform === 'win32' ? [pipeOfWindows] : [socketOfUser(host.env), socketOfRoot]
  const own = usualSocket(host)
  const found = [own, ...sockets].filter((socket) => socket !== undefined)
  const distinct = [...new Map(found.map((socket) => [socket.path, socket])).values()]
  return [...distinct, { kind: 'http', url: new URL('http://127.0.0.1:10249') }]
}

function socketOfUser({ XDG_RUNTIME_DIR: folder = '' }: NodeJS.ProcessEnv): LocalSocket | undefined {
  return posix.isAbsolute(folder) ? { kind: 'unix', path: posix.join(folder, 'fairlead.sock') } : undefined
}

/** `/path`, `unix:///path` or `npipe:////./pipe/NAME`. */
export function parseSocket(text: string, platform: NodeJS.Platform): LocalSocket | undefined {
  const pipe = parsePipe(text)
  if (pipe !== undefined) return { kind: 'pipe', path: pipe }
  const path = text.startsWith('unix://') ? text.slice('unix://'.length) : text
  return posix.isAbsolute(path) && platform !== 'win32' ? { kind: 'unix', path } : undefined
}

/** The value of `--server`. */
export function parseServer(text: string, platform: NodeJS.Platform): ServerAddress {
  const socket = parseSocket(text, platform)
  if (socket !== undefined) {
    const problem = socketProblem(socket.kind, platform)
    if (problem !== undefined) throw new CommandError(`--server=${text} cannot be used here: ${problem}`)
    return socket
  }
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'http:') return { kind: 'http', url }
  const local = platform === 'win32' ? 'npipe:////./pipe/NAME' : 'unix:///PATH'
  throw new CommandError(`--server=${text} names no proxy: write ${local} or http://127.0.0.1:PORT`)
}

export function serverText(address: ServerAddress): string {
  return address.kind === 'http' ? address.url.origin : socketText(address)
}
