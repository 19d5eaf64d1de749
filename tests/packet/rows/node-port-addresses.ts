/** Where node ports are open. */
import { plans } from '../testing/address-plan.ts'
import { at, reaches, refused, row, untouched } from '../testing/row.ts'
import type { Scenario } from '../testing/row.ts'
import { givenService } from '../testing/service-fixture.ts'
import type { PortFixture } from '../testing/service-fixture.ts'

const both = ['here-1', 'there-1'] as const
const service = givenService('np', 90, { type: 'NodePort', endpoints: both })
const empty = givenService('np-empty', 91, { type: 'NodePort' })
const dnsPort: PortFixture = { name: 'dns', protocol: 'UDP', port: 53, target: 53 }
const names = givenService('np-udp', 92, { type: 'NodePort', ports: [dnsPort], endpoints: both })
const spread = givenService('np-spread', 93, { type: 'NodePort', externalTrafficPolicy: 'Local', endpoints: both })
const second = at("node port on the node's second address", service)
const first = at('node port', service)
const localhost = at('node port on localhost', service)
const open = reaches(both, 'node')
const { ipv4, ipv6 } = plans

export const nodePortServices = [service]

export const nodePortRows = [
  row(59, 'a node port answers on localhost', {
    from: 'localhost',
    to: localhost,
    expect: open,
    families: ['ipv4'],
    only: 'iptables',
  }),
  row(53, 'a node port does not answer on localhost', {
    from: 'localhost',
    to: localhost,
    expect: untouched,
    families: ['ipv4'],
    only: ['nftables', 'ipvs'],
  }),
  row(65, 'a node port does not answer on ::1', {
    from: 'localhost',
    to: localhost,
    expect: untouched,
    families: ['ipv6'],
  }),
  row(61, 'a node port answers on every address of the node', {
    from: ['outside', 'node', 'caller'],
    to: [first, second],
    expect: open,
  }),
]

/** The same Service under settings that say where node ports are open. */
export const nodePortScenarios: readonly Scenario[] = [
  {
    name: 'node ports where the mode has them by default',
    settings: { nodePortAddresses: 'as the mode has it by default' },
    services: [service, empty],
    rows: [
      row(52, "a node port answers on the node's primary address", {
        from: ['outside', 'node', 'caller'],
        to: first,
        expect: open,
        only: 'nftables',
      }),
      row(52, 'a node port does not answer elsewhere', {
        from: ['outside', 'node', 'caller'],
        to: second,
        expect: untouched,
        only: 'nftables',
      }),
      row(53, 'a node port does not answer on localhost', {
        from: 'localhost',
        to: localhost,
        expect: untouched,
        only: 'nftables',
      }),
      row(52, "without endpoints a node port refuses on the node's primary address", {
        from: ['outside', 'node', 'caller'],
        to: at('node port', empty),
        expect: refused,
        only: 'nftables',
      }),
      row(52, 'without endpoints a node port is not touched elsewhere', {
        from: ['outside', 'caller'],
        to: at("node port on the node's second address", empty),
        expect: untouched,
        only: 'nftables',
      }),
    ],
  },
  {
    name: 'node ports on localhost in every mode',
    // Whatever addresses have them otherwise.
    settings: { localhostNodePorts: 'in every mode', nodePortAddresses: [ipv4.nodeRange, ipv6.nodeRange] },
    services: [service, names, spread],
    rows: [
      row(59, 'a node port answers on localhost, on ::1 too', {
        from: 'localhost',
        to: [localhost, at('node port on localhost', names)],
        expect: open,
        needs: ['localhost in every mode'],
      }),
      row(59, 'policy Local is not for programs of the node: on localhost endpoints of all nodes answer', {
        from: 'localhost',
        to: at('node port on localhost', spread),
        expect: open,
        needs: ['localhost in every mode'],
      }),
      row(61, 'the address in the list answers', { from: ['outside', 'node'], to: first, expect: open }),
    ],
  },
  {
    name: 'no node ports on localhost',
    settings: { localhostNodePorts: false },
    services: nodePortServices,
    rows: [
      row(60, 'localhost is not touched', { from: 'localhost', to: localhost, expect: untouched }),
      row(61, 'a node port answers on every other address', {
        from: ['outside', 'node'],
        to: [first, second],
        expect: open,
      }),
    ],
  },
  {
    name: 'node ports on the first address only',
    settings: { nodePortAddresses: [ipv4.nodeRange, '127.0.0.1/32', ipv6.nodeRange], localhostNodePorts: false },
    services: nodePortServices,
    rows: [
      row(63, 'the address in the list answers', { from: ['outside', 'node'], to: first, expect: open }),
      row(63, 'an address in the list answers also when its device has no carrier', {
        from: 'outside',
        to: at('node port on an idle device', service),
        expect: open,
        // IPv6 does not use such an address.
        families: ['ipv4'],
        needs: ['addresses of devices without carrier'],
      }),
      row(63, 'an address outside the list is not touched', { from: 'outside', to: second, expect: untouched }),
      row(63, 'localhost is not touched, even when the list has it', {
        from: 'localhost',
        to: localhost,
        expect: untouched,
      }),
    ],
  },
  {
    name: 'node ports on both IPv4 addresses and one IPv6 address',
    settings: { nodePortAddresses: [ipv4.nodeRange, ipv4.secondNodeRange, ipv6.nodeRange] },
    services: nodePortServices,
    rows: [
      row(64, 'both IPv4 addresses answer', { from: 'outside', to: [first, second], expect: open, families: ['ipv4'] }),
      row(64, 'the IPv6 address in the list answers', { from: 'outside', to: first, expect: open, families: ['ipv6'] }),
      row(64, 'the other IPv6 address is not touched', {
        from: 'outside',
        to: second,
        expect: untouched,
        families: ['ipv6'],
      }),
    ],
  },
  {
    name: 'node ports with IPv4 addresses only',
    settings: { nodePortAddresses: [ipv4.nodeRange] },
    services: nodePortServices,
    rows: [
      row(66, 'all IPv6 addresses answer', { from: 'outside', to: [first, second], expect: open, families: ['ipv6'] }),
      row(66, 'the IPv4 address in the list answers', { from: 'outside', to: first, expect: open, families: ['ipv4'] }),
      row(66, 'the other IPv4 address is not touched', {
        from: 'outside',
        to: second,
        expect: untouched,
        families: ['ipv4'],
      }),
    ],
  },
]
