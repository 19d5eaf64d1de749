/** `--debug-socket`: where Fairlead's own commands ask this proxy. */
import { DebugSocketError, serveDebugSocket } from '../../observe/http/debug/debug-socket.ts'
import { debugHandler, limitsOnSocket } from '../../observe/http/debug/debug-handler.ts'
import type { DebugPage } from '../../observe/http/debug/debug-page.ts'
import { socketText } from '../../http/local-socket.ts'
import type { LocalSocket } from '../../http/local-socket.ts'
import { socketProblem } from '../../http/named-pipe.ts'
import { parseSocket, usualSocket } from '../ask/server-address.ts'
import type { Host } from '../host/host.ts'
import { CommandError } from '../program.ts'
import type { Runnable } from '../run-all.ts'
import type { Daemon } from './daemon.ts'

export interface DebugSocketPlace extends Pick<Daemon, 'debugSocket' | 'debugSocketGroup' | 'host' | 'log'> {
  readonly pages: readonly DebugPage[]
}

/** Throws if the flags make no sense. What cannot be opened at a usual place is left out; where the user said, it is an error. */
export async function debugSocket(place: DebugSocketPlace): Promise<readonly Runnable[]> {
  const { debugSocket: text, debugSocketGroup, host, log, pages } = place
  if (text === 'none') return []
  const isUsual = text === ''
  const socket = isUsual ? usualSocket(host) : namedSocket(text, host)
  if (socket === undefined) return []
  const options = {
    socket,
    groupId: await groupNumber(debugSocketGroup, host),
    handler: debugHandler({ pages, limits: limitsOnSocket, clock: host.clock, log }),
    maxConnections: 32,
    log,
  }
  return [
    {
      async run(signal) {
        try {
          await serveDebugSocket(options, signal)
        } catch (error) {
          if (!isUsual || !(error instanceof DebugSocketError)) throw error
          const fields = { socket: socketText(socket), error }
          // Somebody who names a group wants its members to use the socket.
          if (options.groupId === undefined) log.debug(1, 'running without a debug socket', fields)
          else log.warn('running without a debug socket', { ...fields, group: debugSocketGroup })
        }
      },
    },
  ]
}

function namedSocket(text: string, { platform }: Pick<Host, 'platform'>): LocalSocket {
  const socket = parseSocket(text, platform)
  const usage = `write ${platform === 'win32' ? 'npipe:////./pipe/NAME' : 'unix:///PATH'}, or none`
  if (socket === undefined) throw new CommandError(`--debug-socket=${text} names no socket: ${usage}`)
  const problem = socketProblem(socket.kind, platform)
  if (problem !== undefined) throw new CommandError(`--debug-socket=${text} cannot be used here: ${problem}, ${usage}`)
  return socket
}

async function groupNumber(group: string, host: Pick<Host, 'readTextFile'>): Promise<number | undefined> {
  if (group === '') return undefined
  if (/^\d{1,9}$/.test(group)) return Number(group)
  const lines = (await host.readTextFile('/etc/group').catch(() => '')).split('\n')
  const id = lines.map((line) => line.split(':')).find(([name]) => name === group)?.[2]
  if (id === undefined) throw new CommandError(`--debug-socket-group=${group}: there is no such group in /etc/group`)
  return Number(id)
}
