import { UserspaceBackend } from '../../backends/userspace/userspace-backend.ts'
import type { Backend } from '../../core/backend.ts'
import type { Relay } from '../../dataplane/relay/relay.ts'
import type { ModeContext, ModeOnNode } from './mode.ts'
import { loopbackSockets } from './workings.ts'

/** Each Service is served at a loopback address of this machine. */
export function loopbackMode({ borrowRelay, log }: ModeContext): ModeOnNode {
  return {
    name: 'userspace',
    ...loopbackSockets,
    supports: () => Promise.resolve(true),
    prepare: () => Promise.resolve(),

    async createBackend() {
      const relay = await borrowRelay({ mayBeTransparent: false })
      const backend = new UserspaceBackend({ relay, listen: { kind: 'loopback' }, log })
      return { backend: endingWith(relay, backend), afterSync: [] }
    },
  }
}

/** The backend gives its relay back when it ends; the last to do so ends the connections of clients. */
function endingWith(relay: Relay, backend: UserspaceBackend): Backend {
  return {
    name: backend.name,
    sync: (view, change, signal) => backend.sync(view, change, signal),
    traffic: () => backend.traffic(),
    async [Symbol.asyncDispose]() {
      await backend[Symbol.asyncDispose]()
      await relay[Symbol.asyncDispose]()
    },
  }
}
