/** Whatever happens, in the end HNS holds exactly what is wanted, beside what others made; and nothing else is written down. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ServiceRecord, SliceRecord } from '../../api/records.ts'
import { hresult } from '../../dataplane/hcn/hresult.ts'
import type { Fault } from '../../dataplane/hcn/memory/faults.ts'
import type { HnsOptions } from '../../dataplane/hcn/memory/hns-options.ts'
import { describeHns } from './testing/describe-hns.ts'
import { pods, web } from './testing/web-service.ts'
import { WindowsNode } from './testing/windows-node.ts'

const names = ['a', 'b', 'c'] as const
const podsHere = ['10.61.1.5', '10.61.1.6'] as const
const backends = [...podsHere, '10.61.2.7', '10.61.2.8', '10.61.2.9', '10.61.1.7 somewhere']
const states = ['', ' leaving', ' unready']

interface Objects {
  readonly service: ServiceRecord
  readonly slices: readonly SliceRecord[]
}

const anyObjects: fc.Arbitrary<Objects> = fc
  .record({
    name: fc.constantFrom(...names),
    hasNodePort: fc.boolean(),
    ingress: fc.subarray(['203.0.113.40', '2001:db8:203::40']),
    policies: fc.record({
      externalTrafficPolicy: fc.constantFrom('Cluster', 'Local'),
      internalTrafficPolicy: fc.constantFrom('Cluster', 'Local'),
      sessionAffinity: fc.constantFrom('None', 'ClientIP'),
    }),
    annotations: fc.subarray([
      ['preserve-destination', 'true'],
      ['winProxyOptimization', 'disabled'],
    ] as const),
    isDual: fc.boolean(),
    ends: fc.uniqueArray(fc.record({ ip: fc.constantFrom(...backends), state: fc.constantFrom(...states) }), {
      selector: ({ ip }) => ip,
      maxLength: 4,
    }),
  })
  .map(({ name, hasNodePort, ingress, policies, annotations, isDual, ends }) => {
    const index = names.indexOf(name)
    const families = isDual
      ? { clusterIPs: [`10.112.0.2${index}`, `2001:db8:112::2${index}`], ipFamilies: ['IPv4', 'IPv6'] }
      : {}
    const service = web({
      name,
      ...policies,
      ...families,
      clusterIP: `10.112.0.2${index}`,
      type: ingress.length > 0 ? 'LoadBalancer' : 'NodePort',
      ports: [{ port: 80, ...(hasNodePort ? { nodePort: 31_080 + index } : {}) }],
      ingress: name === 'a' ? ingress : [],
      annotations: Object.fromEntries(annotations),
    })
    const texts = ends.map(({ ip, state }) => `${ip}${state}`)
    const slices = [pods(texts, { name }), { ...pods(texts.map(inOtherFamily), { name }), name: `${name}-6` }]
    return { service, slices }
  })

function inOtherFamily(end: string): string {
  return end.replace(/^10\.61\.(\d)\.(\d)/, '2001:db8:61::$1:$2')
}

type Step =
  | { readonly do: 'put'; readonly objects: Objects }
  | { readonly do: 'remove'; readonly name: string }
  | { readonly do: 'pod comes' | 'pod goes'; readonly ip: string }
  | { readonly do: 'new process' }
  | { readonly do: 'subnet moves'; readonly provider: string }
  | { readonly do: 'HNS restarts'; readonly renewed: readonly ('Endpoint' | 'LoadBalancer')[] }
  | { readonly do: 'nothing' }

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: anyObjects.map((objects) => ({ do: 'put', objects }) as const) },
  { weight: 2, arbitrary: fc.constantFrom(...names).map((name) => ({ do: 'remove', name }) as const) },
  { weight: 1, arbitrary: fc.constantFrom(...podsHere).map((ip) => ({ do: 'pod comes', ip }) as const) },
  { weight: 1, arbitrary: fc.constantFrom(...podsHere).map((ip) => ({ do: 'pod goes', ip }) as const) },
  { weight: 1, arbitrary: fc.constant({ do: 'new process' } as const) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('172.30.7.12', '172.30.7.13')
      .map((provider) => ({ do: 'subnet moves', provider }) as const),
  },
  {
    weight: 1,
    arbitrary: fc
      .subarray(['Endpoint', 'LoadBalancer'] as const)
      .map((renewed) => ({ do: 'HNS restarts', renewed }) as const),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'nothing' } as const) },
)

/** Of one kind of call, or of whatever comes. */
const anyFault: fc.Arbitrary<Fault> = fc
  .record({
    operation: fc.constantFrom(
      'createEndpoint',
      'createLoadBalancer',
      'modifyLoadBalancer',
      'removeEndpoint',
      'removeLoadBalancer',
      'any',
    ),
    nth: fc.integer({ min: 1, max: 6 }),
    times: fc.integer({ min: 1, max: 3 }),
    hresult: fc.constantFrom(
      hresult.rpcUnavailable,
      hresult.switchPortNotFound,
      hresult.portAlreadyExists,
      hresult.notImplemented,
      hresult.hasReferences,
    ),
    effect: fc.constantFrom('nothing', 'nothing', 'all'),
  })
  .map(({ operation, ...fault }) => (operation === 'any' ? fault : { operation, ...fault }))

const anyHns: fc.Arbitrary<HnsOptions> = fc.record({
  profile: fc.constantFrom('2019', '2022', '2025'),
  endpointInUse: fc.constantFrom('is refused', 'degrades its load balancers'),
  changeInPlace: fc.constantFrom('everything', 'endpoints and ports'),
  idCase: fc.constantFrom('lower', 'now this, now that'),
})

const anyHistory = fc.record({
  hns: anyHns,
  type: fc.constantFrom('L2Bridge', 'Overlay'),
  steps: fc.array(
    fc.record({ step: anyStep, full: fc.boolean(), fault: fc.option(anyFault, { nil: undefined, freq: 2 }) }),
    { minLength: 1, maxLength: 8, size: 'max' },
  ),
})

type History = typeof anyHistory extends fc.Arbitrary<infer T> ? T : never

test('in the end HNS holds what a first sync would make, and what others made', async () => {
  await fc.assert(
    fc.asyncProperty(anyHistory, async (history) => {
      const node = newNode(history)
      await node.sync()
      for (const { step, full, fault } of history.steps) {
        apply(node, step)
        const takeAway = fault && node.driver.fault(fault)
        const failed = await node.sync({ full }).catch(() => [])
        takeAway?.()
        if (failed.length > 0) await node.sync({ retry: failed.map(({ key }) => key) }).catch(() => [])
      }
      for (let again = 0; again < 2; again++) expect(await node.sync({ full: true })).toEqual([])

      const fresh = newNode(history)
      for (const { step } of history.steps) if (step.do !== 'new process') apply(fresh, step)
      fresh.restart()
      await fresh.sync()
      expect(describeHns(node.hns)).toEqual(describeHns(fresh.hns))
      expect(node.owned.list().toSorted()).toEqual(fresh.owned.list().toSorted())
    }),
    { numRuns: 150 },
  )
})

test('after a good sync nothing is left to write', async () => {
  await fc.assert(
    fc.asyncProperty(anyHistory, async (history) => {
      const node = newNode(history)
      for (const { step, full } of history.steps) {
        apply(node, step)
        await node.sync({ full })
      }
      await node.sync({ full: true })
      node.calls()
      await node.sync({ full: true })
      node.restart()
      await node.sync()
      expect(node.writes()).toEqual([])
    }),
    { numRuns: 100 },
  )
})

/** With a load balancer and a remote endpoint of somebody else. */
function newNode({ hns, type }: Pick<History, 'hns' | 'type'>): WindowsNode {
  const settings = { forwardHealthCheckVip: true }
  const families = type === 'Overlay' ? (['ipv4'] as const) : (['ipv4', 'ipv6'] as const)
  const node = new WindowsNode({ hns, type, families, settings })
  node.hns.putEndpoint(node.networkId, { ips: ['10.61.1.1', '2001:db8:61::1:1'], name: 'cbr0' })
  const theirs = node.hns.putEndpoint(node.networkId, { ips: ['10.61.2.99'], isRemote: true })
  const mapping = { protocol: 6, internalPort: 80, externalPort: 80, isSticky: false, mappingFlags: 0, flags: 0 }
  node.hns.putLoadBalancer({ ...mapping, endpoints: [theirs], sourceVip: undefined, vip: '10.112.0.99' })
  for (const ip of podsHere) node.pod(ip, inOtherFamily(ip))
  return node
}

function apply(node: WindowsNode, step: Step): void {
  switch (step.do) {
    case 'put':
      return node.put(step.objects.service, ...step.objects.slices)
    case 'remove':
      return node.remove('Service', step.name)
    case 'pod comes':
      if (!isHere(node, step.ip)) node.pod(step.ip, inOtherFamily(step.ip))
      return
    case 'pod goes':
      for (const { id, ips, isRemote } of node.hns.endpoints)
        if (!isRemote && ips[0] === step.ip) node.hns.remove('Endpoint', id)
      return
    case 'new process':
      return node.restart()
    case 'subnet moves':
      return node.hns.changeNetwork(node.networkId, {
        remoteSubnets: [
          { prefix: '10.61.2.0/24', providerAddress: step.provider, isolationId: 4096, routerMac: '00-15-5D-4C-11-02' },
        ],
      })
    case 'HNS restarts':
      return node.hns.start(step.renewed)
    case 'nothing':
      return
    default:
      return step satisfies never
  }
}

function isHere({ hns }: WindowsNode, ip: string): boolean {
  return hns.endpoints.some(({ ips, isRemote }) => !isRemote && ips[0] === ip)
}
