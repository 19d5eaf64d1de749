/** Who has which address: the plan of the iptables specification, with the same numbers in both families. */
import type { Family } from '../../../src/net/ip.ts'

export const localPods = ['here-1', 'here-2', 'here-3', 'here-4', 'caller'] as const
export const remotePods = ['there-1', 'there-2'] as const
export const clients = ['outside', 'blocked'] as const

export type PodName = (typeof localPods)[number] | (typeof remotePods)[number]
export type ClientName = (typeof clients)[number]

export interface AddressPlan {
  readonly family: Family
  readonly nodeIP: string
  /** The node's second address, in another range. */
  readonly secondNodeIP: string
  /** On a device of the node that is up but has no carrier, as a bridge without ports. */
  readonly idleNodeIP: string
  readonly remoteNodeIP: string
  readonly loopback: string
  readonly podRange: string
  /** The part of it that the node of the proxy has. */
  readonly localPodRange: string
  readonly serviceRange: string
  readonly publicRange: string
  /** Has `outside` in it, and not `blocked`. */
  readonly clientRange: string
  /** Has the node's first address in it, and not the second. */
  readonly nodeRange: string
  readonly secondNodeRange: string
  readonly hosts: Readonly<Record<PodName | ClientName, string>>
  /** Addresses of the Service with this number. */
  clusterIP(index: number): string
  vip(index: number): string
  secondVip(index: number): string
  externalIP(index: number): string
  /** In the range of Services, and never used. */
  readonly unallocatedIP: string
}

export const plans: Readonly<Record<Family, AddressPlan>> = {
  ipv4: {
    family: 'ipv4',
    nodeIP: '192.0.2.10',
    secondNodeIP: '192.0.2.138',
    idleNodeIP: '192.0.2.77',
    remoteNodeIP: '192.0.2.20',
    loopback: '127.0.0.1',
    podRange: '10.244.0.0/16',
    localPodRange: '10.244.1.0/24',
    serviceRange: '10.96.0.0/12',
    publicRange: '198.51.100.0/22',
    clientRange: '203.0.113.0/25',
    nodeRange: '192.0.2.0/25',
    secondNodeRange: '192.0.2.128/25',
    hosts: {
      'here-1': '10.244.1.5',
      'here-2': '10.244.1.6',
      'here-3': '10.244.1.7',
      'here-4': '10.244.1.8',
      caller: '10.244.1.99',
      'there-1': '10.244.2.7',
      'there-2': '10.244.3.9',
      outside: '203.0.113.7',
      blocked: '203.0.113.200',
    },
    clusterIP: (index) => `10.96.10.${index}`,
    vip: (index) => `198.51.100.${index}`,
    secondVip: (index) => `198.51.101.${index}`,
    externalIP: (index) => `198.51.102.${index}`,
    unallocatedIP: '10.96.99.99',
  },
  ipv6: {
    family: 'ipv6',
    nodeIP: '2001:db8::10',
    secondNodeIP: '2001:db8:0:1::138',
    idleNodeIP: '2001:db8::77',
    remoteNodeIP: '2001:db8::20',
    loopback: '::1',
    podRange: 'fd00:244::/32',
    localPodRange: 'fd00:244:1::/64',
    serviceRange: 'fd00:96::/112',
    publicRange: '2001:db8:100::/46',
    clientRange: '2001:db8:200::/48',
    nodeRange: '2001:db8::/64',
    secondNodeRange: '2001:db8:0:1::/64',
    hosts: {
      'here-1': 'fd00:244:1::5',
      'here-2': 'fd00:244:1::6',
      'here-3': 'fd00:244:1::7',
      'here-4': 'fd00:244:1::8',
      caller: 'fd00:244:1::99',
      'there-1': 'fd00:244:2::7',
      'there-2': 'fd00:244:3::9',
      outside: '2001:db8:200::7',
      blocked: '2001:db8:204::200',
    },
    clusterIP: (index) => `fd00:96::${index}`,
    vip: (index) => `2001:db8:100::${index}`,
    secondVip: (index) => `2001:db8:101::${index}`,
    externalIP: (index) => `2001:db8:102::${index}`,
    unallocatedIP: 'fd00:96::9999',
  },
}
