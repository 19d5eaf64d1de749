import { loopbackTraits } from '../../backends/userspace/traits.ts'
import { UserspaceBackend } from '../../backends/userspace/userspace-backend.ts'
import { endingWith } from './ending-with.ts'
import type { ModeContext, ModeOnNode } from './mode.ts'
import { loopbackSockets } from './workings.ts'

/** Each Service is served at a loopback address of this machine. */
export function loopbackMode({ borrowRelay, log }: ModeContext): ModeOnNode {
  return {
    name: 'userspace',
    traits: loopbackTraits,
    ...loopbackSockets,
    supports: () => Promise.resolve(true),
    prepare: () => Promise.resolve(),

    async createBackend() {
      const relay = await borrowRelay({ mayBeTransparent: false })
      const backend = new UserspaceBackend({ relay, listen: { kind: 'loopback' }, log })
      // The last to give the relay back ends the connections of clients.
      return { backend: endingWith(backend, relay), afterSync: [] }
    },
  }
}
