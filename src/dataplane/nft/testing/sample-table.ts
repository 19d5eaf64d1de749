/** A small table with one set of each kind that the nftables mode uses. */
import type { Family } from '../../../net/ip.ts'
import type { FieldType, NftOperation, SetDeclaration } from '../nft.ts'
import { commentedRule, rule } from '../rule.ts'

export interface SampleTable {
  /** The n-th address of the family. */
  readonly ip: (n: number) => string
  readonly services: SetDeclaration
  readonly endpoints: SetDeclaration
  readonly nodePorts: SetDeclaration
  readonly ranges: SetDeclaration
  readonly cidrs: SetDeclaration
  readonly clusterIps: SetDeclaration
  readonly affinity: SetDeclaration
  readonly open: SetDeclaration
  /** Makes all of it. */
  readonly setUp: readonly NftOperation[]
}

export function sampleTable(family: Family): SampleTable {
  const address: FieldType = family === 'ipv4' ? 'ipv4_addr' : 'ipv6_addr'
  const servicePort: readonly FieldType[] = [address, 'inet_proto', 'inet_service']
  const services: SetDeclaration = {
    name: 'services',
    key: servicePort,
    value: 'verdict',
    hasCounter: true,
    comment: 'who serves an address',
  }
  const endpoints: SetDeclaration = {
    name: 'endpoints',
    key: [...servicePort, 'index'],
    value: [address, 'inet_service'],
    comment: 'numbered from 0',
  }
  const nodePorts: SetDeclaration = {
    name: 'nodeports',
    key: ['inet_proto', 'inet_service'],
    value: 'verdict',
    comment: 'who serves a port of the node',
  }
  const ranges: SetDeclaration = {
    name: 'source-ranges',
    key: [...servicePort, address],
    isInterval: true,
    comment: 'who may come',
  }
  const cidrs: SetDeclaration = { name: 'service-cidrs', key: [address], isInterval: true, comment: '' }
  const clusterIps: SetDeclaration = { name: 'cluster-ips', key: [address], comment: 'all of them' }
  const affinity: SetDeclaration = {
    name: 'affinity/demo/web/tcp/http/1',
    key: [address],
    timeoutSeconds: 60,
    comment: 'clients',
  }
  const open: SetDeclaration = {
    name: 'open-10/demo/web/tcp/http',
    key: ['inet_proto'],
    keepsConnections: true,
    comment: 'open connections',
  }
  const fields = ['destination', 'protocol', 'port'] as const
  return {
    ip: (n) => (family === 'ipv4' ? `10.0.${n >> 8}.${n & 255}` : `fd00::${n === 0 ? '' : n.toString(16)}`),
    services,
    endpoints,
    nodePorts,
    ranges,
    cidrs,
    clusterIps,
    affinity,
    open,
    setUp: [
      { do: 'add table', comment: 'a sample' },
      ...[services, endpoints, nodePorts, ranges, cidrs, clusterIps, affinity, open].map((set): NftOperation => ({
        do: 'add set',
        set,
      })),
      { do: 'add chain', chain: { name: 'pick-2', comment: 'one of two' } },
      { do: 'add chain', chain: { name: 'spare', comment: '' } },
      {
        do: 'add chain',
        chain: {
          name: 'nat-prerouting',
          hook: { type: 'nat', hook: 'prerouting', priority: -100 },
          comment: 'first packets',
        },
      },
      {
        do: 'add rule',
        chain: 'pick-2',
        rule: rule({ kind: 'dnat by map', fields, choices: 2, by: 'chance', map: 'endpoints' }),
      },
      {
        do: 'add rule',
        chain: 'nat-prerouting',
        rule: commentedRule('by address', { kind: 'look up verdict', fields, map: 'services' }),
      },
    ],
  }
}
