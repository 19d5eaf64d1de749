/** The proxy modes: which exist in this build, and how to make their backends. */
import type { ListenPolicy } from '../backends/userspace/plan.ts'
import { UserspaceBackend } from '../backends/userspace/userspace-backend.ts'
import type { Backend } from '../core/backend.ts'
import type { Clock } from '../core/clock.ts'
import type { Logger } from '../core/logger.ts'
import { NodeRelay } from '../dataplane/relay/node-relay.ts'
import type { Family } from '../net/ip.ts'
import { CommandError } from './program.ts'

export interface BackendContext {
  readonly log: Logger
  readonly clock: Clock
  readonly listen: ListenPolicy
}

export interface Mode {
  readonly name: string
  /** Programs the kernel, which then tracks connections; so its conntrack settings matter. */
  readonly usesKernel: boolean
  createBackend(family: Family, context: BackendContext): Backend
}

const builtModes: readonly Mode[] = [
  {
    name: 'userspace',
    usesKernel: false,
    createBackend: (_family, { log, clock, listen }) => {
      const relay = new NodeRelay({ log, clock })
      return endingWith(relay, new UserspaceBackend({ relay, listen }))
    },
  },
]

const plannedModes = ['iptables', 'nftables', 'ipvs', 'kernelspace']

/** `configFile` is the one that named the mode, or empty: then the command line did. */
export function findMode(name: string, configFile = ''): Mode {
  const mode = builtModes.find((built) => built.name === name)
  if (mode !== undefined) return mode
  const known = builtModes.map((built) => built.name).join(', ')
  const what = plannedModes.includes(name) ? 'is not built yet' : 'is unknown'
  const wayOut = configFile === '' ? 'choose --proxy-mode=MODE' : `set "mode" in ${configFile} to one`
  throw new CommandError(`proxy mode "${name}" ${what}: ${wayOut} from ${known}`)
}

/** A relay that was made for one backend ends with it, and so do the connections of its clients. */
function endingWith(relay: NodeRelay, backend: UserspaceBackend): Backend {
  return {
    name: backend.name,
    render: (view) => backend.render(view),
    sync: (view, change, signal) => backend.sync(view, change, signal),
    async [Symbol.asyncDispose]() {
      await backend[Symbol.asyncDispose]()
      await relay[Symbol.asyncDispose]()
    },
  }
}
