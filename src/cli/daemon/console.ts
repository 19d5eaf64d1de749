/** `--console-bind-address`: the web console of this node. */
import { randomUUID } from 'node:crypto'
import type { Family } from '../../net/ip.ts'
import type { KeptSockets } from '../../net/kept-sockets.ts'
import type { LiveTopic } from '../../observe/console/live-topic.ts'
import type { DemoActions } from '../../observe/console/server/console-handler.ts'
import type { About } from '../../observe/console/wire.ts'
import type { DebugPage } from '../../observe/http/debug/debug-page.ts'
import type { ConsoleDoor } from '../console/console-door.ts'
import { serveConsole } from '../console/serve-console.ts'
import type { Runnable } from '../run-all.ts'
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
  const { daemon, door, pages, sockets } = options
  const { consoleDemo: demo, config } = daemon
  const topics = [...options.topics, ...(demo?.topics ?? [])]
  const about = aboutNode(options, topics)
  const isHardFail = config.bindAddressHardFail
  const onListening = demo && ((url: string) => demo.onListening(url))
  return serveConsole({ ...daemon, door, about, topics, pages, demo, sockets, isHardFail, onListening })
}

function aboutNode({ daemon, nodeName, families, pages }: DaemonConsoleOptions, topics: readonly LiveTopic[]): About {
  const { host, version, config, consoleDemo } = daemon
  return {
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
}
