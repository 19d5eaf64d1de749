/** Endpoints that are leaving. */
import { at, byRules, dropped, reaches, refused, row } from '../testing/row.ts'
import { givenService } from '../testing/service-fixture.ts'
import type { EndpointFixture } from '../testing/service-fixture.ts'
import type { PodName } from '../testing/address-plan.ts'

const leaving = (pod: PodName): EndpointFixture => ({ pod, is: 'serving while terminating' })
const gone = (pod: PodName): EndpointFixture => ({ pod, is: 'terminating' })

const local = { type: 'LoadBalancer', externalTrafficPolicy: 'Local' } as const
const cluster = { type: 'LoadBalancer' } as const

const localReady = givenService('local-ready', 60, {
  ...local,
  endpoints: ['here-1', 'here-2', leaving('here-3'), gone('here-4'), 'there-1'],
})
const localLeaving = givenService('local-leaving', 61, {
  ...local,
  endpoints: [leaving('here-1'), leaving('here-2'), gone('here-3'), 'there-1'],
})
const remoteLeaving = givenService('remote-leaving', 62, { ...local, endpoints: [leaving('there-1')] })
const localGone = givenService('local-gone', 63, { ...local, endpoints: [gone('here-1'), gone('there-1')] })
const clusterReady = givenService('cluster-ready', 64, {
  ...cluster,
  endpoints: ['here-1', 'here-2', leaving('there-1'), gone('here-3'), 'there-2'],
})
const clusterLeaving = givenService('cluster-leaving', 65, {
  ...cluster,
  endpoints: [leaving('here-1'), leaving('here-2'), gone('there-1'), leaving('there-2')],
})
const oneLeaving = givenService('one-leaving', 66, { ...cluster, endpoints: [leaving('there-1')] })
const clusterGone = givenService('cluster-gone', 67, { ...cluster, endpoints: [gone('here-1'), gone('there-1')] })
const waiting = givenService('waiting', 68, { ...cluster, endpoints: [{ pod: 'here-1', is: 'not ready' }] })

export const terminationServices = [
  localReady,
  localLeaving,
  remoteLeaving,
  localGone,
  clusterReady,
  clusterLeaving,
  oneLeaving,
  clusterGone,
  waiting,
]

export const terminationRows = [
  row(100, 'ready endpoints are used and leaving ones are not', {
    from: 'caller',
    to: at('cluster IP', localReady),
    expect: reaches(['here-1', 'here-2', 'there-1'], 'client'),
  }),
  row(100, 'policy Local uses the ready local endpoints only', {
    from: 'outside',
    to: at('VIP', localReady),
    expect: reaches(['here-1', 'here-2'], 'client'),
  }),
  row(101, 'a pod reaches the ready remote endpoint while all local ones are leaving', {
    from: 'caller',
    to: at('cluster IP', localLeaving),
    expect: reaches(['there-1'], 'client'),
  }),
  row(101, 'policy Local falls back to local endpoints that are leaving and still serve', {
    from: 'outside',
    to: at('VIP', localLeaving),
    expect: reaches(['here-1', 'here-2'], 'client'),
  }),
  row(102, 'the last leaving endpoint serves pods from another node', {
    from: 'caller',
    to: at('cluster IP', remoteLeaving),
    expect: reaches(['there-1'], 'client'),
  }),
  row(102, 'policy Local drops while the last leaving endpoint is on another node', {
    from: 'outside',
    to: at('VIP', remoteLeaving),
    expect: dropped,
    only: byRules,
  }),
  row(64, 'policy Local uses the last leaving endpoint on another node', {
    from: 'outside',
    to: at('VIP', remoteLeaving),
    expect: reaches(['there-1'], 'client'),
    only: 'ipvs',
  }),
  row(103, 'endpoints that no longer serve are none: pods and outside clients are refused', {
    from: ['caller', 'outside'],
    to: [localGone, clusterGone].flatMap((service) => [at('cluster IP', service), at('VIP', service)]),
    expect: refused,
  }),
  row(104, 'policy Cluster uses ready endpoints of all nodes for pods', {
    from: 'caller',
    to: at('cluster IP', clusterReady),
    expect: reaches(['here-1', 'here-2', 'there-2'], 'client'),
  }),
  row(104, 'policy Cluster uses ready endpoints of all nodes for outside clients', {
    from: 'outside',
    to: at('VIP', clusterReady),
    expect: reaches(['here-1', 'here-2', 'there-2'], 'node'),
  }),
  row(105, 'policy Cluster falls back to leaving endpoints for pods', {
    from: 'caller',
    to: at('cluster IP', clusterLeaving),
    expect: reaches(['here-1', 'here-2', 'there-2'], 'client'),
  }),
  row(105, 'policy Cluster falls back to leaving endpoints for outside clients', {
    from: 'outside',
    to: at('VIP', clusterLeaving),
    expect: reaches(['here-1', 'here-2', 'there-2'], 'node'),
  }),
  row(106, 'policy Cluster uses one leaving endpoint on another node', {
    from: 'outside',
    to: at('VIP', oneLeaving),
    expect: reaches(['there-1'], 'node'),
  }),
  row(109, 'an endpoint that serves but is neither ready nor leaving is not used', {
    from: ['caller', 'outside'],
    to: [at('cluster IP', waiting), at('VIP', waiting)],
    expect: refused,
  }),
]
