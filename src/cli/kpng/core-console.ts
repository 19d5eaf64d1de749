/** `to-api --console-bind-address`: the nodes that follow this core, in a web page. */
import { randomUUID } from 'node:crypto'
import { consoleProblem, consoleSettings } from '../../config/daemon/console-flags.ts'
import type { FlagValues } from '../../config/flags/flag.ts'
import type { Follower } from '../../kpng/server/followers.ts'
import type { GlobalStore } from '../../kpng/store/global-store.ts'
import type { NodeRow } from '../../observe/console/wire.ts'
import { Beat } from '../../observe/console/topics/beat.ts'
import { NodesTopic } from '../../observe/console/topics/nodes-topic.ts'
import type { RootLogger } from '../../observe/logging/create-logger.ts'
import { openConsoleDoor } from '../console/console-door.ts'
import { serveConsole } from '../console/serve-console.ts'
import type { Host } from '../host/host.ts'
import { CommandError, fairleadVersion } from '../program.ts'
import type { Runnable } from '../run-all.ts'
import type { toApiFlags } from './kpng-flags.ts'

export interface CoreConsole {
  readonly values: FlagValues<typeof toApiFlags>
  readonly store: GlobalStore
  readonly followers: () => readonly Follower[]
  readonly host: Host
  readonly log: RootLogger
}

/** None without an address. What is wrong with the flags ends the command. */
export async function coreConsole({ values, store, followers, host, log }: CoreConsole): Promise<readonly Runnable[]> {
  const problem = consoleProblem(values)
  if (problem !== undefined) throw new CommandError(problem)
  const console = consoleSettings(values)
  const { clock } = host
  const topic = new NodesTopic({
    beat: new Beat({ clock, log }),
    revision: () => store.revision,
    rows: () => followers().map(nodeRow),
  })
  return serveConsole({
    console,
    host,
    log,
    door: openConsoleDoor({ console, host, log }),
    about: {
      kind: 'core',
      isDemo: false,
      version: fairleadVersion(),
      process: randomUUID(),
      startedAt: new Date(clock.now() - host.process.uptimeMs()).toISOString(),
      families: [],
      topics: ['nodes'],
      debugPages: [],
    },
    topics: [topic],
    pages: [],
    isHardFail: true,
  })
}

function nodeRow({ id, node, api, peer, userAgent, connectedAtMs, lastContactMs, ...rest }: Follower): NodeRow {
  const { revision, lagMs, isConnected } = rest
  const [, program, mode] = /^(\S+)(?: \(([\w-]+)\))?/.exec(userAgent) ?? []
  return {
    key: String(id),
    node: node !== '' ? node : api === 'global' ? 'the whole cluster' : 'not known yet',
    peer,
    ...(program !== undefined && { program: program.replace('/', ' ') }),
    ...(mode !== undefined && { mode }),
    connectedAt: isoTime(connectedAtMs),
    lastContact: isoTime(lastContactMs),
    revision,
    ...(lagMs !== undefined && { lagMs: Math.round(lagMs / 100) * 100 }),
    isConnected,
  }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
