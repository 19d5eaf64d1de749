/**
 * Served is who finds a load balancer at the address that is not degraded and names only endpoints that HNS has. A restart
 * writes nothing at all.
 */
import fc from 'fast-check'
import { silentLogger } from '../../../core/logger.ts'
import type { PlannedPiece } from '../../../core/inspection.ts'
import type { Endpoint } from '../../../core/route.ts'
import { addressPlans } from '../../../core/testing/random-cluster.ts'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { featuresOf } from '../../../dataplane/hcn/features.ts'
import { frontendOf } from '../../../dataplane/hcn/load-balancer-content.ts'
import { hcnOverDriver } from '../../../dataplane/hcn/hcn-over-driver.ts'
import { hresult } from '../../../dataplane/hcn/hresult.ts'
import type { HnsOptions } from '../../../dataplane/hcn/memory/hns-options.ts'
import { MemoryDriver } from '../../../dataplane/hcn/memory/memory-driver.ts'
import { MemoryHns } from '../../../dataplane/hcn/memory/memory-hns.ts'
import { hostPort } from '../../../net/ip.ts'
import { MemoryOwnedObjects } from '../../../dataplane/owned-objects/memory-owned-objects.ts'
import type { Family } from '../../../net/ip.ts'
import type { BackendSite } from '../../testing/backend-site.ts'
import type { Client, Reach } from '../../testing/clients.ts'
import { DoorCalls } from '../../testing/door-calls.ts'
import { KernelspaceBackend } from '../kernelspace-backend.ts'
import { describeHns } from './describe-hns.ts'
import { testSettings } from './settings.ts'

/** Load balancers, and endpoints that are not those of pods on this node: the CNI would have to repair those. */
export interface HnsDamage {
  readonly kind: 'delete balancer' | 'change balancer' | 'degrade balancer' | 'delete endpoint'
  readonly which: number
}

const anyDamage: fc.Arbitrary<HnsDamage> = fc.record({
  kind: fc.constantFrom('delete balancer', 'change balancer', 'degrade balancer', 'delete endpoint'),
  which: fc.nat({ max: 30 }),
})

export interface SiteOptions {
  readonly name: string
  readonly family: Family
  readonly type: 'L2Bridge' | 'Overlay'
  readonly hns: HnsOptions
}

export function kernelspaceSite({ name, family, type, hns: options }: SiteOptions): BackendSite<HnsDamage, undefined> {
  const plan = addressPlans[family]
  // A pod in the network of the host has no endpoint that a load balancer could name.
  const inPodNetwork = ({ ip }: Endpoint) => ip !== plan.node[0]
  const { modifyLoadBalancer } = featuresOf(new MemoryHns(options).version)
  return {
    name,
    plan,
    settings: undefined,
    damage: anyDamage,
    ignoresSources: true,
    endpointsUnder: (policy, { localEndpoints, clusterEndpoints }) =>
      (policy === 'Local' ? localEndpoints : clusterEndpoints).filter(inPodNetwork),
    // Where nobody can serve, there is no load balancer.
    holdsNothingFor: ({ internal: { outside } }) => outside.kind !== 'forward' || !outside.to.some(inPodNetwork),
    // Before Server 2025, HNS cannot change a load balancer; it is deleted, and made anew. No two can have one frontend, so
    // there is nothing in between.
    hasGapsInChange: !modifyLoadBalancer,
    writes: new Set([
      'createEndpoint',
      'deleteEndpoint',
      'createLoadBalancer',
      'modifyLoadBalancer',
      'deleteLoadBalancer',
    ]),
    restart: { writes: ({ method }) => (/^(create|modify|delete|add|remove)/.test(method) ? [method] : []) },
    newWorld() {
      const hns = new MemoryHns(options)
      const network = hns.putNetwork({ name: 'pod-net', type })
      for (const ip of plan.podsHere) hns.putEndpoint(network, { ips: [ip] })
      const driver = new MemoryDriver(hns)
      const calls = new DoorCalls()
      const hcn = calls.through('hcn', hcnOverDriver(driver, { clock: new FakeClock(), timeLimitMs: 30_000 }))
      const owned = calls.through('owned', new MemoryOwnedObjects(), ['add', 'remove'])
      let takeAway = () => {}
      return {
        calls,
        open: ({ clock }) =>
          new KernelspaceBackend({
            hcn,
            owned,
            settings: {
              ...testSettings,
              family,
              network: { name: 'pod-net', type },
              features: featuresOf(hns.version),
              sourceVip: family === 'ipv4' ? '10.77.1.2' : '2001:db8:77::1:2',
              nodeIp: plan.node[0],
            },
            clock,
            log: silentLogger,
          }),
        snapshot: () => Promise.resolve(describeHns(hns)),
        look: () => Promise.resolve(lookAt(hns, family, plan.node)),
        damage: (damage) => Promise.resolve(doDamage(hns, damage)),
        unexplained: (pieces) => Promise.resolve(unexplainedIn(hns, pieces)),
        spoil: (piece) => Promise.resolve(spoilPiece(hns, piece)),
        refuse(ip, which) {
          takeAway()
          takeAway = () => {}
          if (ip === undefined) return
          const operation = type === 'Overlay' && which % 2 === 1 ? 'createEndpoint' : 'createLoadBalancer'
          const where = ({ args }: { readonly args: readonly string[] }) => args.join().includes(`"${ip}"`)
          takeAway = driver.fault({ operation, where, times: Infinity, hresult: hresult.policyInvalid })
        },
      }
    },
  }
}

function lookAt(hns: MemoryHns, family: Family, nodeIps: readonly string[]): (client: Client) => Reach {
  const balancers = new Map(hns.loadBalancers.map((balancer) => [frontendOf(balancer), balancer]))
  const ipsById = new Map(hns.endpoints.map(({ id, ips }) => [id, ips[0] ?? '']))
  const protocols = { TCP: 6, UDP: 17, SCTP: 132 }
  const at = (vip: string | undefined, { protocol, port }: Client) =>
    balancers.get(
      frontendOf({ vip, protocol: protocols[protocol], externalPort: port, flags: family === 'ipv6' ? 2 : 0 }),
    )
  return (client) => {
    const balancer = at(client.ip, client) ?? (nodeIps.includes(client.ip) ? at(undefined, client) : undefined)
    if (balancer === undefined || balancer.isDegraded) return []
    return balancer.endpoints.map((id) => hostPort(ipsById.get(id) ?? 'nowhere', balancer.internalPort)).sort()
  }
}

function doDamage(hns: MemoryHns, { kind, which }: HnsDamage): void {
  if (kind === 'delete endpoint') {
    const remote = hns.endpoints.filter(({ isRemote }) => isRemote)
    const endpoint = remote[which % remote.length]
    if (endpoint !== undefined) hns.remove('Endpoint', endpoint.id)
    return
  }
  const balancer = hns.loadBalancers[which % hns.loadBalancers.length]
  if (balancer === undefined) return
  if (kind === 'delete balancer') hns.remove('LoadBalancer', balancer.id)
  else if (kind === 'degrade balancer') hns.changeLoadBalancer(balancer.id, { isDegraded: true })
  else if (balancer.endpoints.length > 1)
    hns.changeLoadBalancer(balancer.id, { endpoints: balancer.endpoints.slice(0, 1) })
  else hns.changeLoadBalancer(balancer.id, { internalPort: balancer.internalPort + 1 })
}

/** The endpoints of pods here belong to the CNI; that of the source VIP is there whatever the Services are. */
function unexplainedIn(hns: MemoryHns, pieces: readonly PlannedPiece[]): readonly string[] {
  const frontends = new Set(pieces.map(({ where }) => where))
  const endpoints = new Set(pieces.map(({ text }) => text))
  return [
    ...hns.loadBalancers.map((balancer) => `frontend ${frontendOf(balancer)}`).filter((line) => !frontends.has(line)),
    ...hns.endpoints
      .filter(({ isRemote }) => isRemote)
      .map(({ ips }) => `<endpoint ${ips[0]}>`)
      .filter((line) => !endpoints.has(line)),
  ]
}

function spoilPiece(hns: MemoryHns, { kind, where, text }: PlannedPiece): boolean {
  if (kind === 'endpoint') {
    const endpoint = hns.endpoints.find(({ ips }) => `<endpoint ${ips[0]}>` === text)
    if (endpoint !== undefined) hns.remove('Endpoint', endpoint.id)
    return endpoint !== undefined
  }
  const balancer = hns.loadBalancers.find((it) => `frontend ${frontendOf(it)}` === where)
  if (balancer === undefined) return false
  if (balancer.endpoints.length % 2 === 0) hns.changeLoadBalancer(balancer.id, { isDegraded: true })
  else hns.changeLoadBalancer(balancer.id, { internalPort: balancer.internalPort + 1 })
  return true
}
