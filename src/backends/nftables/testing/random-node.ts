/** A random node: how it is set up, and who sends packets to it. */
import fc from 'fast-check'
import type { LocalTraffic } from '../../../core/node/local-traffic.ts'
import type { AddressPlan } from '../../../core/testing/random-cluster.ts'
import { hostCidr } from '../prefix-text.ts'
import type { NftablesState } from '../settings.ts'
import type { Surroundings } from './packets.ts'

export function anyState(plan: AddressPlan): fc.Arbitrary<NftablesState> {
  const localTraffic = fc.constantFrom<LocalTraffic>(
    { kind: 'cidr', cidr: plan.podCidr },
    { kind: 'cidr', cidr: plan.podCidr },
    { kind: 'interface', name: 'cali1' },
    { kind: 'interface-prefix', prefix: 'cali' },
    { kind: 'none' },
  )
  return fc
    .record({
      localTraffic,
      masqueradeAll: fc.constantFrom(false, false, true),
      nodePortIps: fc.constantFrom(undefined, [], plan.node.slice(0, 1), plan.node),
      untrackedRanges: fc.constantFrom(
        undefined,
        undefined,
        [plan.podCidr],
        plan.podsHere.slice(0, 2).map(hostCidr),
        withServices[plan.family],
      ),
    })
    .map(({ localTraffic, masqueradeAll, nodePortIps, untrackedRanges }) => ({
      settings: {
        family: plan.family,
        localTraffic,
        masqueradeAll,
        masqueradeMark: '0x00004000',
        limitsNodePorts: nodePortIps !== undefined,
        ...(untrackedRanges && { untrackedRanges }),
      },
      nodePortIps: nodePortIps ?? [],
    }))
}

/** They hold the Services, too, and the node and the clients outside. */
const withServices = { ipv4: ['10.0.0.0/8', '192.0.0.0/4'], ipv6: ['2001:db8::/32'] } as const

/** The node may hold an address of a load balancer, as some of them want it. */
export function anySurroundings(plan: AddressPlan): fc.Arbitrary<Surroundings> {
  return fc.boolean().map((holdsVip) => ({
    node: { family: plan.family, localIps: [...plan.node, ...(holdsVip ? plan.loadBalancerIps.slice(0, 1) : [])] },
    senders: [
      ...plan.podsHere.slice(0, 2).map((ip, index) => ({ ip, inInterface: `cali${index + 1}` })),
      ...[...plan.podsElsewhere.slice(0, 1), ...plan.clients].map((ip) => ({ ip, inInterface: 'eth0' })),
    ],
    strangers: plan.strangers,
  }))
}
