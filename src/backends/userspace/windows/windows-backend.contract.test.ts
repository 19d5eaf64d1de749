/** On a Windows node. Served is who finds an address of the machine, and there a listener that takes it and has endpoints. */
import fc from 'fast-check'
import { silentLogger } from '../../../core/logger.ts'
import { nodePortAddresses } from '../../../core/node/node-port-addresses.ts'
import { addressPlans } from '../../../core/testing/random-cluster.ts'
import { MemoryOwnedObjects } from '../../../dataplane/owned-objects/memory-owned-objects.ts'
import { MemoryNetsh } from '../../../dataplane/netsh/memory-netsh.ts'
import { MemoryRelay } from '../../../dataplane/relay/testing/memory-relay.ts'
import { cidrContains, families, hostPort } from '../../../net/ip.ts'
import type { Family } from '../../../net/ip.ts'
import { backendContract } from '../../backend.contract.ts'
import type { BackendSite } from '../../testing/backend-site.ts'
import { DoorCalls } from '../../testing/door-calls.ts'
import { unexplainedListeners } from '../testing/explained-listeners.ts'
import { WindowsBackend } from './windows-backend.ts'

/** Somebody removes the address with this number. */
type Damage = number

for (const family of families) backendContract(windowsSite(family))

function windowsSite(family: Family): BackendSite<Damage, undefined> {
  const plan = addressPlans[family]
  return {
    name: 'Windows userspace',
    plan,
    settings: undefined,
    damage: fc.nat({ max: 20 }),
    cannotServe: ({ protocol }) => protocol === 'SCTP',
    writes: new Set(['set', 'remove', 'add']),
    // Its routes are reported, and it is tried again.
    toleratesFailureOf: ({ door, method }) => door === 'netsh' && method !== 'list',
    // Two sockets cannot have one address.
    hasGapsInHandover: true,
    restart: { skippedBecause: 'its listeners end with the process; for the addresses see windows-backend.test.ts' },
    newWorld() {
      const calls = new DoorCalls()
      const netsh = new MemoryNetsh()
      const owned = new MemoryOwnedObjects()
      let relay = new MemoryRelay()
      const localIps = () => [...netsh.ips, ...plan.node]
      return {
        calls,
        open({ clock }) {
          relay = new MemoryRelay()
          return new WindowsBackend({
            relay: calls.through('relay', relay, ['set', 'remove']),
            netsh: calls.through('netsh', netsh, ['list', 'add', 'remove']),
            owned,
            family,
            localIps,
            nodePortAddresses: () => nodePortAddresses([], family),
            clock,
            log: silentLogger,
          })
        },
        snapshot: () => Promise.resolve([...relay.listeners.map((spec) => JSON.stringify(spec)), ...netsh.ips].sort()),
        look: () =>
          Promise.resolve(({ source, ip, port, protocol }) => {
            const listener = localIps().includes(ip) ? relay.listenerAt(protocol, { ip, port }) : undefined
            const isLetIn =
              listener?.allowedSources.length === 0 ||
              listener?.allowedSources.some((range) => cidrContains(range, source)) === true
            const endpoints = isLetIn ? listener.pool.endpoints : []
            return endpoints.map((endpoint) => hostPort(endpoint.ip, endpoint.port)).sort()
          }),
        async unexplained(pieces) {
          const addresses = new Set(pieces.flatMap(({ kind, text }) => (kind === 'address' ? text.split(/[ =/]/) : [])))
          const strange = [...netsh.ips].filter((ip) => !addresses.has(ip))
          return [...strange, ...unexplainedListeners(relay, pieces)]
        },
        async spoil({ kind, text }) {
          if (kind !== 'address') return false
          const lost = [...netsh.ips].filter((ip) => text.split(/[ =/]/).includes(ip))
          for (const ip of lost) netsh.ips.delete(ip)
          return lost.length > 0
        },
        async damage(index) {
          const ip = [...netsh.ips].sort()[index]
          if (ip !== undefined) netsh.ips.delete(ip)
        },
        refuse(ip, which) {
          netsh.refusedIp = which % 2 === 0 ? ip : undefined
          relay.refusedIp = which % 2 === 0 ? undefined : ip
        },
      }
    },
  }
}
