/** The web console of a process, whatever it shows. */
import type { ConsoleSettings } from '../../config/daemon/console-flags.ts'
import { consoleFiles } from '../../host/own-files.ts'
import { ConnectionLimit } from '../../http/connection-limit.ts'
import { hostPort } from '../../net/ip.ts'
import type { KeptSockets } from '../../net/kept-sockets.ts'
import type { LiveTopic } from '../../observe/console/live-topic.ts'
import { consoleHandler } from '../../observe/console/server/console-handler.ts'
import type { DemoActions } from '../../observe/console/server/console-handler.ts'
import { LiveStreams, maxStreams } from '../../observe/console/server/live-streams.ts'
import type { About } from '../../observe/console/wire.ts'
import type { DebugPage } from '../../observe/http/debug/debug-page.ts'
import { serveHttp } from '../../observe/http/http-server.ts'
import type { Logger } from '../../core/logger.ts'
import type { Host } from '../host/host.ts'
import type { Runnable } from '../run-all.ts'
import type { ConsoleDoor } from './console-door.ts'

export interface ConsoleHost {
  /** Undefined: there is no console. */
  readonly console: ConsoleSettings | undefined
  readonly host: Pick<Host, 'clock' | 'findFile'>
  readonly log: Logger
}

export interface ServeConsoleOptions extends ConsoleHost {
  readonly door: ConsoleDoor
  readonly about: About
  readonly topics: readonly LiveTopic[]
  readonly pages: readonly DebugPage[]
  readonly demo?: DemoActions | undefined
  readonly sockets?: KeptSockets
  /** A port that is in use ends the process. */
  readonly isHardFail: boolean
  /** `http://127.0.0.1:10257`: it can be opened. */
  readonly onListening?: ((url: string) => void) | undefined
}

export function serveConsole(options: ServeConsoleOptions): readonly Runnable[] {
  const { console, topics, pages, demo, sockets, isHardFail, host, log } = options
  if (console === undefined) return []
  const { clock } = host
  const { access, tls } = options.door
  const url = console.url === undefined ? undefined : new URL(console.url)
  const place = { ip: console.ip, hasTls: tls !== undefined, url }
  return [
    {
      async run(signal) {
        using streams = new LiveStreams({ about: () => options.about, topics, clock, log })
        // They last for as long as somebody looks: the end must not wait for that.
        signal.addEventListener('abort', () => streams[Symbol.dispose](), { once: true })
        await serveHttp(
          {
            what: 'the console',
            bind: { ip: console.ip, port: console.port },
            handler: consoleHandler({ place, access, streams, files: consoleFiles, pages, demo, clock, log }),
            answersPages: true,
            tls,
            connections: new ConnectionLimit(maxStreams + 64),
            ...(sockets && { sockets }),
            isHardFail,
            clock,
            log,
            onListening: ({ ip, port }) => {
              const shown = `${tls === undefined ? 'http' : 'https'}://${hostPort(ip, port)}`
              log.info('the console is served', { url: console.url ?? shown })
              options.onListening?.(shown)
            },
          },
          signal,
        )
      },
    },
  ]
}
