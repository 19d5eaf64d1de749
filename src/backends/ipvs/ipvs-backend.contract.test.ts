/**
 * Served is who passes the rules and the sets that they ask, arrives at an address of this node, and finds a virtual
 * server with endpoints there. A restart writes all rules once more, as kube-proxy does; servers, endpoints, entries and
 * addresses that are there are not written.
 */
import { silentLogger } from '../../core/logger.ts'
import { addressPlans } from '../../core/testing/random-cluster.ts'
import type { Addresses } from '../../dataplane/addresses/addresses.ts'
import { savedRulesHash } from '../../dataplane/iptables/change-detector.ts'
import { ParsedRules } from '../../dataplane/iptables/testing/walk-packet.ts'
import type { Ipset } from '../../dataplane/ipset/ipset.ts'
import type { Ipvs } from '../../dataplane/ipvs/ipvs.ts'
import { families } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { comparableLines } from '../../../tests/testing/compare-rulesets.ts'
import { backendContract } from '../backend.contract.ts'
import type { BackendSite } from '../testing/backend-site.ts'
import { DoorCalls } from '../testing/door-calls.ts'
import { DriftWatch } from './drift-watch.ts'
import { IpvsBackend } from './ipvs-backend.ts'
import type { Kernel } from './kernel.ts'
import { spoilPiece, unexplainedIn } from './testing/explained-kernel.ts'
import { anyKernelDamage, doKernelDamage } from './testing/kernel-damage.ts'
import type { KernelDamage } from './testing/kernel-damage.ts'
import { memoryKernel } from './testing/memory-kernel.ts'
import { lookAt } from './testing/reach.ts'

const never = new AbortController().signal
/** Rules that only ever drop packets of one Service each. */
const unordered = new Set(['KUBE-IPVS-OUT-FILTER'])
/** Jumps that others deleted are put on top again, whatever order they had. */
const unorderedAfterDamage = new Set([...unordered, 'PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'])

for (const family of families) backendContract(ipvsSite(family))

function ipvsSite(family: Family): BackendSite<KernelDamage, undefined> {
  const plan = addressPlans[family]
  return {
    name: 'ipvs',
    plan,
    settings: undefined,
    damage: anyKernelDamage,
    // As with kube-proxy: without an endpoint on this node, those elsewhere serve.
    endpointsUnder: (policy, { localEndpoints, clusterEndpoints }) =>
      policy === 'Local' && localEndpoints.length > 0 ? localEndpoints : clusterEndpoints,
    writes: new Set([
      'apply',
      'ensure',
      'swap',
      'flush',
      'destroy',
      'ensureDummy',
      'removeDummy',
      'add',
      'remove',
      'restore',
    ]),
    splitCommits: new Set(['ipvs', 'ipset', 'ip address add', 'ip address del']),
    // Endpoints that lost their weight are deleted later, as if they had connections.
    toleratesFailureOf: ({ method }) => method === 'realServers',
    restart: {
      writes: ({ method, args: [what] }) =>
        ['apply', 'add', 'remove', 'flush', 'swap', 'destroy'].includes(method)
          ? [`${method} ${JSON.stringify(what)}`]
          : [],
    },
    newWorld() {
      const kernel = memoryKernel({ family })
      kernel.addresses.addLink('eth0', ...plan.node.map((ip) => ({ ip, prefixLength: 64 })))
      const calls = new DoorCalls()
      const rules = new ParsedRules()
      const counted: Kernel = {
        ipvs: oneByOne(calls.through<Ipvs>('ipvs', kernel.ipvs)),
        ipset: oneByOne(calls.through<Ipset>('ipset', kernel.ipset)),
        addresses: oneIpAtATime(calls.through<Addresses>('addresses', kernel.addresses)),
        iptables: calls.through('iptables', kernel.iptables),
      }
      return {
        calls,
        open: ({ clock }) =>
          new IpvsBackend({
            kernel: counted,
            settings: () => ({
              family,
              scheduler: 'rr',
              localTraffic: { kind: 'cidr', cidr: plan.podCidr },
              masqueradeAll: false,
              masqueradeMark: '0x00004000',
              nodePortAddresses: [],
              excludeCidrs: [],
            }),
            drift: new DriftWatch({
              kernel,
              family,
              openDetector: () => Promise.resolve(savedRulesHash(kernel.iptables, ['filter', 'nat'])),
              clock,
              log: silentLogger,
            }),
            metrics: { restoreFailed() {} },
            clock,
            log: silentLogger,
          }),
        snapshot: async ({ wasDamaged }) => [
          ...(await kernel.snapshot()).filter((line) => /^(server|set|address) /.test(line)),
          ...comparableLines(
            await kernel.iptables.saveAll(never),
            wasDamaged ? unorderedAfterDamage : unordered,
          ).sort(),
        ],
        look: () => lookAt(kernel, rules),
        damage: (damage) => doKernelDamage(kernel, damage),
        unexplained: (pieces) => unexplainedIn(kernel, pieces),
        spoil: (piece) => spoilPiece(kernel, piece),
        refuse(ip, which) {
          const refuses = (door: number, text: string) => which % 3 === door && text === ip
          kernel.ipvs.refuse = ({ kind, server }) =>
            kind === 'add-server' && refuses(0, server.ip) ? 'refused' : undefined
          kernel.ipset.refuse = ({ kind, entry }) =>
            kind === 'add' && refuses(1, entry.split(',')[0] ?? '') ? 'refused' : undefined
          kernel.addresses.refusedIps = new Set(ip !== undefined && which % 3 === 2 ? [ip] : [])
        },
      }
    },
  }
}

/** The kernel takes one operation after the other, and others meet what is there in between. */
function oneByOne<D extends Ipvs | Ipset>(door: D): D {
  const apply = async (operations: readonly never[], signal: AbortSignal) => {
    const errors = new Map<number, unknown>()
    for (const [index, operation] of operations.entries()) {
      const error = (await door.apply([operation], signal)).get(0)
      if (error !== undefined) errors.set(index, error)
    }
    return errors
  }
  return withMethods(door, { apply })
}

function oneIpAtATime(door: Addresses): Addresses {
  const each =
    (method: 'add' | 'remove') =>
    async (link: string, ips: readonly string[], signal: AbortSignal): ReturnType<Addresses['add']> => {
      const errors = await Promise.resolve(new Map<string, never>())
      for (const ip of ips)
        for (const [failedIp, error] of await door[method](link, [ip], signal)) errors.set(failedIp, error as never)
      return errors
    }
  return withMethods(door, { add: each('add'), remove: each('remove') })
}

function withMethods<D extends object>(door: D, methods: Readonly<Record<string, unknown>>): D {
  return new Proxy(door, {
    get: (target, property) =>
      typeof property === 'string' && property in methods
        ? methods[property]
        : (Reflect.get(target, property, target) as unknown),
  })
}
