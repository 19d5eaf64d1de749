import { planUserspace } from '../../backends/userspace/plan.ts'
import { renderPlan } from '../../backends/userspace/render.ts'
import { UserspaceBackend } from '../../backends/userspace/userspace-backend.ts'
import type { Backend } from '../../core/backend.ts'
import { NodeRelay } from '../../dataplane/relay/node-relay.ts'
import type { Mode } from './mode.ts'

export const userspaceMode: Mode = {
  name: 'userspace',
  usesKernel: false,
  supports: () => Promise.resolve(true),
  prepare: () => Promise.resolve(),
  createBackend(_family, { log, clock, listen }) {
    const relay = new NodeRelay({ log, clock })
    return Promise.resolve({ backend: endingWith(relay, new UserspaceBackend({ relay, listen, log })), afterSync: [] })
  },
  render: (view, { listen }) => [{ part: 'listeners', text: renderPlan(planUserspace(view, listen)) }],
}

/** A relay that was made for one backend ends with it, and so do the connections of its clients. */
function endingWith(relay: NodeRelay, backend: UserspaceBackend): Backend {
  return {
    name: backend.name,
    sync: (view, change, signal) => backend.sync(view, change, signal),
    async [Symbol.asyncDispose]() {
      await backend[Symbol.asyncDispose]()
      await relay[Symbol.asyncDispose]()
    },
  }
}
