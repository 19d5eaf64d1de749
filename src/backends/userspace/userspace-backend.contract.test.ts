/** Without root, at the addresses of the Services. Served is who finds a listener that takes it and has endpoints. */
import { silentLogger } from '../../core/logger.ts'
import { addressPlans } from '../../core/testing/random-cluster.ts'
import { MemoryRelay } from '../../dataplane/relay/testing/memory-relay.ts'
import { cidrContains, families, hostPort } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { backendContract } from '../backend.contract.ts'
import type { BackendSite } from '../testing/backend-site.ts'
import { DoorCalls } from '../testing/door-calls.ts'
import { unexplainedListeners } from './testing/explained-listeners.ts'
import { UserspaceBackend } from './userspace-backend.ts'

for (const family of families) backendContract(userspaceSite(family))

function userspaceSite(family: Family): BackendSite<never, undefined> {
  return {
    name: 'userspace',
    plan: addressPlans[family],
    settings: undefined,
    cannotServe: ({ protocol }) => protocol === 'SCTP',
    writes: new Set(['set', 'remove']),
    // Two sockets cannot have one address.
    hasGapsInHandover: true,
    restart: { skippedBecause: 'its listeners end with the process' },
    newWorld() {
      const calls = new DoorCalls()
      let relay = new MemoryRelay()
      return {
        calls,
        open() {
          relay = new MemoryRelay()
          return new UserspaceBackend({
            relay: calls.through('relay', relay, ['set', 'remove']),
            listen: { kind: 'service-addresses' },
            log: silentLogger,
          })
        },
        snapshot: () => Promise.resolve(relay.listeners.map((spec) => JSON.stringify(spec)).sort()),
        look: () =>
          Promise.resolve(({ source, ip, port, protocol }) => {
            const listener = relay.listenerAt(protocol, { ip, port })
            const isLetIn =
              listener?.allowedSources.length === 0 ||
              listener?.allowedSources.some((range) => cidrContains(range, source)) === true
            const endpoints = isLetIn ? listener.pool.endpoints : []
            return endpoints.map((endpoint) => hostPort(endpoint.ip, endpoint.port)).sort()
          }),
        damage: () => Promise.resolve(),
        unexplained: (pieces) => Promise.resolve(unexplainedListeners(relay, pieces)),
        spoil: () => Promise.resolve(false),
        refuse(ip) {
          relay.refusedIp = ip
        },
      }
    },
  }
}
