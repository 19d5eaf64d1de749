/** `--console-bind-address`: the web console of this node. */
import { randomUUID } from 'node:crypto'
import { ConnectionLimit } from '../../http/connection-limit.ts'
import { consoleFiles } from '../../host/own-files.ts'
import type { Family } from '../../net/ip.ts'
import { hostPort } from '../../net/ip.ts'
import type { KeptSockets } from '../../net/kept-sockets.ts'
import type { LiveTopic } from '../../observe/console/live-topic.ts'
import { consoleHandler } from '../../observe/console/server/console-handler.ts'
import type { DemoActions } from '../../observe/console/server/console-handler.ts'
import { LiveStreams, maxStreams } from '../../observe/console/server/live-streams.ts'
import type { About } from '../../observe/console/wire.ts'
import type { DebugPage } from '../../observe/http/debug/debug-page.ts'
import { serveHttp } from '../../observe/http/http-server.ts'
import type { Runnable } from '../run-all.ts'
import type { ConsoleDoor } from './console-door.ts'
import type { Daemon } from './daemon.ts'

/** What the demo adds. */
export interface ConsoleDemo extends DemoActions {
  readonly topics: readonly LiveTopic[]
  /** `http://127.0.0.1:10257`: it can be opened. */
  onListening(url: string): void
}

export interface DaemonConsoleOptions {
  readonly daemon: Daemon
  readonly door: ConsoleDoor
  readonly nodeName: string
  readonly families: readonly Family[]
  readonly topics: readonly LiveTopic[]
  readonly pages: readonly DebugPage[]
  readonly sockets: KeptSockets
}

export function daemonConsole(options: DaemonConsoleOptions): readonly Runnable[] {
  const { daemon, pages, sockets } = options
  const { access, tls } = options.door
  const { console, consoleDemo: demo, config, host, log } = daemon
  if (console === undefined) return []
  const { clock } = host
  const url = console.url === undefined ? undefined : new URL(console.url)
  const place = { ip: console.ip, hasTls: tls !== undefined, url }
  const topics = [...options.topics, ...(demo?.topics ?? [])]
  const about = aboutNode(options, topics)
  return [
    {
      async run(signal) {
        using streams = new LiveStreams({ about, topics, clock, log })
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
            sockets,
            isHardFail: config.bindAddressHardFail,
            clock,
            log,
            onListening: ({ ip, port }) => {
              const shown = `${tls === undefined ? 'http' : 'https'}://${hostPort(ip, port)}`
              log.info('the console is served', { url: console.url ?? shown })
              demo?.onListening(shown)
            },
          },
          signal,
        )
      },
    },
  ]
}

function aboutNode(
  { daemon, nodeName, families, pages }: DaemonConsoleOptions,
  topics: readonly LiveTopic[],
): () => About {
  const { host, version, config, consoleDemo } = daemon
  const about: About = {
    kind: 'node',
    isDemo: consoleDemo !== undefined,
    version,
    process: randomUUID(),
    startedAt: new Date(host.clock.now() - host.process.uptimeMs()).toISOString(),
    nodeName,
    mode: config.mode,
    families,
    topics: topics.map(({ name }) => name as About['topics'][number]),
    debugPages: pages.map(({ path }) => path),
  }
  return () => about
}
