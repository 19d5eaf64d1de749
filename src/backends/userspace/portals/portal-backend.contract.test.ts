/**
 * Served is who is sent to a proxy port, let in, and finds a listener with endpoints there. Ports are taken as they come,
 * so rules are compared by the listener that they lead to.
 */
import fc from 'fast-check'
import { addressPlans } from '../../../core/testing/random-cluster.ts'
import { spoilRule, unexplainedRules } from '../../../dataplane/iptables/testing/explained-rules.ts'
import { RefusingIptables } from '../../../dataplane/iptables/testing/refusing-iptables.ts'
import { anyRuleDamage, doRuleDamage } from '../../../dataplane/iptables/testing/rule-damage.ts'
import type { RuleDamage } from '../../../dataplane/iptables/testing/rule-damage.ts'
import { endingsOf, ParsedRules } from '../../../dataplane/iptables/testing/walk-packet.ts'
import { MemoryRelay } from '../../../dataplane/relay/testing/memory-relay.ts'
import { families, hostPort } from '../../../net/ip.ts'
import type { Family } from '../../../net/ip.ts'
import { comparableLines } from '../../../../tests/testing/compare-rulesets.ts'
import { backendContract } from '../../backend.contract.ts'
import type { BackendSite } from '../../testing/backend-site.ts'
import { DoorCalls } from '../../testing/door-calls.ts'
import { FreePorts } from '../free-ports.ts'
import { unexplainedListeners } from '../testing/explained-listeners.ts'
import { placedChains } from './chains.ts'
import type { PortalSettings } from './settings.ts'
import { portalBackendOn } from './testing/portals-under-test.ts'

const never = new AbortController().signal
/** All Services share these, and no rule of one matches packets for another. */
const unorderedChains = new Set(placedChains.map(({ chain }) => chain))

for (const family of families) backendContract(portalSite(family))

function portalSite(family: Family): BackendSite<RuleDamage, PortalSettings> {
  const plan = addressPlans[family]
  const [own, other] = plan.node
  const settings: PortalSettings = {
    family,
    localTraffic: { kind: 'cidr', cidr: plan.podCidr },
    masqueradeAll: false,
    keepsClients: true,
    listenIp: own,
    hostIp: own,
    nodePortIps: [own],
  }
  return {
    name: 'userspace portal',
    plan,
    settings,
    otherSettings: fc.constantFrom(
      settings,
      { ...settings, nodePortIps: [] },
      { ...settings, nodePortIps: [own, other] },
      { ...settings, listenIp: other, hostIp: other },
    ),
    damage: anyRuleDamage({ leftovers: false }),
    cannotServe: ({ protocol }) => protocol === 'SCTP',
    writes: new Set(['restore', 'set', 'remove']),
    // Who loses an address gets other endpoints before the rules lead elsewhere.
    hasGapsInHandover: true,
    restart: { skippedBecause: 'its listeners end with the process, so the rules must lead to new ports' },
    newWorld() {
      const kernel = new RefusingIptables({ family })
      const calls = new DoorCalls()
      const rules = new ParsedRules()
      let relay = new MemoryRelay()
      return {
        calls,
        open({ settings: current, clock }) {
          relay = new MemoryRelay()
          return portalBackendOn({
            relay: calls.through('relay', relay, ['set', 'remove']),
            iptables: calls.through('iptables', kernel),
            kernel,
            freePorts: new FreePorts(),
            settings: current,
            clock,
          })
        },
        async snapshot() {
          return [
            ...comparableLines(await kernel.saveAll(never), unorderedChains).map((line) => withoutPorts(line, relay)),
            ...relay.listeners.map(({ address, ...spec }) => JSON.stringify({ ip: address.ip, ...spec })),
          ].sort()
        },
        async look() {
          const tables = rules.of(await kernel.saveAll(never))
          const isLocal = (ip: string) => plan.node.includes(ip)
          return ({ source, ip, port, protocol }) => {
            const [end] = endingsOf(tables, { isLocal }, { source, destination: ip, port, protocol })
            if (end?.outcome !== 'arrives' || !end.isTranslated) return []
            const { destination, port: proxyPort } = end.packet
            const { pool } = relay.listenerAt(protocol, { ip: destination, port: proxyPort }) ?? {}
            return (pool?.endpoints ?? []).map((endpoint) => hostPort(endpoint.ip, endpoint.port)).sort()
          }
        },
        damage: (damage) => doRuleDamage(kernel, damage),
        unexplained: async (pieces) => [
          ...unexplainedListeners(relay, pieces),
          ...(await unexplainedRules(kernel, pieces, (chain, rule) => !unorderedChains.has(chain) || rule === '')),
        ],
        spoil: async (piece) => piece.kind === 'rule' && spoilRule(kernel, piece),
        refuse(ip) {
          kernel.refusedIp = ip
        },
      }
    },
  }
}

/** A proxy port is named by its listener. One without a listener stays a number, and is not what it should be. */
function withoutPorts(rule: string, { listeners }: MemoryRelay): string {
  const [, protocol = ''] = /-p (\w+)/.exec(rule) ?? []
  const proxyPorts = listeners.filter(({ id }) => id.includes(' proxy-port '))
  return rule.replace(/(?<=--dport |]?:)\d+\b/g, (port) => {
    const found = proxyPorts.find((spec) => spec.protocol === protocol.toUpperCase() && `${spec.address.port}` === port)
    return found === undefined ? port : `(${found.id})`
  })
}
