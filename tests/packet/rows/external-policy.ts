/** externalTrafficPolicy Local. */
import { plans } from '../testing/address-plan.ts'
import { at, byRules, dropped, reaches, refused, row } from '../testing/row.ts'
import type { Door } from '../testing/row.ts'
import { givenService } from '../testing/service-fixture.ts'
import type { PortFixture, ServiceFixture } from '../testing/service-fixture.ts'

const everyone = ['here-1', 'there-1', 'there-2'] as const
const udp: PortFixture = { name: 'dns', protocol: 'UDP', port: 53, target: 53 }
const local = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', hasExternalIP: true } as const

const spread = givenService('spread', 40, { ...local, vips: 'two', endpoints: everyone })
const spreadUdp = givenService('spread-udp', 41, { ...local, ports: [udp], endpoints: everyone })
const elsewhere = givenService('elsewhere', 42, { ...local, vips: 'two', endpoints: ['there-1'] })
const elsewhereUdp = givenService('elsewhere-udp', 43, { ...local, ports: [udp], endpoints: ['there-1'] })
const guarded = givenService('elsewhere-guarded', 44, {
  ...local,
  sourceRanges: [plans.ipv4.clientRange, plans.ipv6.clientRange],
  endpoints: ['there-1'],
})
const both = givenService('both-policies', 45, {
  type: 'NodePort',
  internalTrafficPolicy: 'Local',
  externalTrafficPolicy: 'Local',
  endpoints: everyone,
})
const nowhere = givenService('nowhere', 46, { ...local, vips: 'two' })

export const externalPolicyServices = [spread, spreadUdp, elsewhere, elsewhereUdp, guarded, both, nowhere]

const outsideDoors = ['external IP', 'VIP', 'node port'] as const
const doors = (service: ServiceFixture, ...names: readonly Door[]) => names.map((door) => at(door, service))

export const externalPolicyRows = [
  row(68, 'a pod reaches every endpoint through the ClusterIP and keeps its address', {
    from: 'caller',
    to: at('cluster IP', spread),
    expect: reaches(everyone, 'client'),
  }),
  row(68, 'a pod reaches every endpoint through each other door and keeps its address', {
    from: 'caller',
    to: doors(spread, ...outsideDoors),
    expect: reaches(everyone, 'client'),
    only: byRules,
  }),
  row(65, 'a pod reaches only the local endpoint through each other door and keeps its address', {
    from: 'caller',
    to: doors(spread, ...outsideDoors),
    expect: reaches(['here-1'], 'client'),
    only: 'ipvs',
  }),
  row(69, 'an outside client reaches only the local endpoint, which sees the client', {
    from: ['outside', 'blocked'],
    to: [...doors(spread, ...outsideDoors), ...doors(spreadUdp, ...outsideDoors)],
    expect: reaches(['here-1'], 'client'),
  }),
  row(69, 'an outside client reaches the local endpoint also where the VIP is on the node', {
    from: ['outside', 'blocked'],
    to: at('second VIP', spread),
    expect: reaches(['here-1'], 'client'),
  }),
  row(68, 'a pod that reaches itself through a VIP is masqueraded', {
    from: 'here-1',
    to: at('VIP', spread),
    expect: {
      kind: 'reaches',
      each: [...reaches(['here-1'], 'node').each, ...reaches(['there-1', 'there-2'], 'client').each],
    },
    only: byRules,
  }),
  row(65, 'a pod that reaches itself through a VIP is masqueraded', {
    from: 'here-1',
    to: at('VIP', spread),
    expect: reaches(['here-1'], 'node'),
    only: 'ipvs',
  }),
  row(70, 'an outside client of the ClusterIP reaches every endpoint, masqueraded', {
    from: 'outside',
    to: at('cluster IP', spread),
    expect: reaches(everyone, 'node'),
  }),
  row(71, 'the node reaches every endpoint through each door', {
    from: 'node',
    to: [...doors(spread, ...outsideDoors), ...doors(spreadUdp, ...outsideDoors)],
    expect: reaches(everyone, 'node'),
    only: byRules,
  }),
  row(65, 'the node reaches only the local endpoint through each door', {
    from: 'node',
    to: [...doors(spread, ...outsideDoors), ...doors(spreadUdp, ...outsideDoors)],
    expect: reaches(['here-1'], 'node'),
    only: 'ipvs',
  }),
  row(71, 'the node reaches every endpoint through localhost', {
    from: 'localhost',
    to: at('node port on localhost', spread),
    expect: reaches(everyone, 'node'),
    families: ['ipv4'],
    only: 'iptables',
  }),
  row(73, 'an outside client is dropped where no endpoint is local', {
    from: 'outside',
    to: [...doors(elsewhere, ...outsideDoors), ...doors(elsewhereUdp, ...outsideDoors)],
    expect: dropped,
    only: byRules,
  }),
  row(73, 'an outside client is dropped also where the VIP is on the node', {
    from: 'outside',
    to: at('second VIP', elsewhere),
    expect: dropped,
    only: byRules,
  }),
  row(64, 'an outside client reaches remote endpoints as itself where no endpoint is local', {
    from: 'outside',
    to: [...doors(elsewhere, 'second VIP', ...outsideDoors), ...doors(elsewhereUdp, ...outsideDoors)],
    expect: reaches(['there-1'], 'client'),
    only: 'ipvs',
  }),
  row(74, 'a pod reaches remote endpoints where none is local', {
    from: 'caller',
    to: [...doors(elsewhere, ...outsideDoors), ...doors(elsewhereUdp, ...outsideDoors)],
    expect: reaches(['there-1'], 'client'),
  }),
  row(75, 'the node reaches remote endpoints where none is local', {
    from: 'node',
    to: doors(elsewhere, ...outsideDoors),
    expect: reaches(['there-1'], 'node'),
  }),
  row(77, 'with source ranges and no local endpoint, nobody outside gets through', {
    from: ['outside', 'blocked'],
    to: at('VIP', guarded),
    expect: dropped,
    only: byRules,
  }),
  row(64, 'with source ranges and no local endpoint, those who may use the VIP reach remote endpoints', {
    from: 'outside',
    to: at('VIP', guarded),
    expect: reaches(['there-1'], 'client'),
    only: 'ipvs',
  }),
  row(64, 'with source ranges and no local endpoint, others are dropped', {
    from: 'blocked',
    to: at('VIP', guarded),
    expect: dropped,
    only: 'ipvs',
  }),
  row(85, 'with both policies Local a pod reaches the local endpoint inside', {
    from: 'caller',
    to: at('cluster IP', both),
    expect: reaches(['here-1'], 'client'),
  }),
  row(85, 'with both policies Local a pod reaches every endpoint through the node port', {
    from: 'caller',
    to: at('node port', both),
    expect: reaches(everyone, 'client'),
    only: byRules,
  }),
  row(65, 'with both policies Local a pod reaches the local endpoint through the node port', {
    from: 'caller',
    to: at('node port', both),
    expect: reaches(['here-1'], 'client'),
    only: 'ipvs',
  }),
  row(86, 'with both policies Local an outside client of the ClusterIP is masqueraded', {
    from: 'outside',
    to: at('cluster IP', both),
    expect: reaches(['here-1'], 'node'),
  }),
  row(86, 'with both policies Local an outside client of the node port is seen', {
    from: 'outside',
    to: at('node port', both),
    expect: reaches(['here-1'], 'client'),
  }),
  row(40, 'policy Local without any endpoint refuses', {
    from: ['outside', 'caller'],
    to: doors(nowhere, 'cluster IP', 'second VIP', ...outsideDoors),
    expect: refused,
  }),
]
