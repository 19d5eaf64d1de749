import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { SliceEndpoint, TrafficPolicy } from '../../api/records.ts'
import type { Route } from '../route.ts'
import { choiceOf, whyUnused } from '../routing/categorize.ts'
import type { WhyUnused } from '../routing/categorize.ts'
import { kernelspaceChoice } from '../routing/kernelspace-rules.ts'
import { routesOf } from '../routing/router.ts'
import { usualPolicy } from '../routing/serving-policy.ts'
import { service, slice } from '../testing/objects.ts'

const place = { nodeName: 'here', zone: 'a' }

/** As its slice has it, and what else is known of it. */
interface AnyEndpoint extends Omit<SliceEndpoint, 'ip'> {
  readonly weight: number
  readonly isUnreachable: boolean
}

const anyEndpoint: fc.Arbitrary<AnyEndpoint> = fc.record({
  nodeName: fc.constantFrom('here', 'there'),
  ready: fc.boolean(),
  serving: fc.boolean(),
  terminating: fc.boolean(),
  zoneHints: fc.constantFrom([], ['a'], ['b'], ['a', 'b']),
  nodeHints: fc.constantFrom([], [], ['here'], ['there']),
  weight: fc.constantFrom(1, 1, 2, 0),
  isUnreachable: fc.constantFrom(false, false, true),
})

const anyService = fc.record({
  endpoints: fc.array(anyEndpoint, { maxLength: 5 }),
  rules: fc.constantFrom('usual' as const, 'kernelspace' as const),
  isBalanced: fc.boolean(),
})

type AnyService = typeof anyService extends fc.Arbitrary<infer T> ? T : never

function routeOf({ endpoints, rules, isBalanced }: AnyService): Route {
  // Both policies are in use, so that the Route has both lists.
  const record = service(
    'shop/web',
    {
      type: 'LoadBalancer',
      clusterIP: '10.96.0.1',
      clusterIPs: ['10.96.0.1'],
      externalTrafficPolicy: 'Local',
      ports: [{ port: 80, nodePort: 30_080 }],
    },
    isBalanced ? { loadBalancer: { ingress: [{ ip: '203.0.113.1' }] } } : {},
  )
  const slices = [
    {
      ...slice('shop/web-1', 'web', []),
      family: 'ipv4' as const,
      ports: [{ name: '', protocol: 'TCP' as const, port: 8080 }],
      endpoints: endpoints.map(({ weight: _weight, isUnreachable: _isUnreachable, ...it }, index) => ({
        ...it,
        ip: `10.64.0.${index + 1}`,
      })),
    },
  ]
  const findings = {
    weigh: (weight: number, ip: string) => endpoints[Number(ip.split('.')[3]) - 1]?.weight ?? weight,
    isUnreachable: ({ address }: { readonly address: string }) =>
      endpoints.some((it, index) => it.isUnreachable && address === `10.64.0.${index + 1}:8080`),
  }
  const policy = { ...usualPolicy, endpointRules: rules }
  const [route] = routesOf(record, slices, { family: 'ipv4', ...place, nodeIP: '192.0.2.1', policy }, [], findings)
  if (route === undefined) throw new Error('no route')
  return route
}

/** Why each endpoint is not used under the policy, by its address. */
function reasons(chosen: AnyService, policy: TrafficPolicy): readonly (WhyUnused | undefined)[] {
  const { endpoints } = routeOf(chosen)
  const choice =
    chosen.rules === 'usual'
      ? choiceOf(endpoints, policy, place)
      : kernelspaceChoice(endpoints, policy, place, chosen.isBalanced)
  return endpoints.map((endpoint) => whyUnused(endpoint, choice, place))
}

const policies = ['Cluster', 'Local'] as const

test('an endpoint has a reason not to answer exactly if the route does not have it', () => {
  fc.assert(
    fc.property(anyService, fc.constantFrom(...policies), (chosen, policy) => {
      const route = routeOf(chosen)
      const used = policy === 'Local' ? route.localEndpoints : route.clusterEndpoints
      const why = reasons(chosen, policy)
      const withoutReason = route.endpoints.filter((_, index) => why[index] === undefined)
      expect(withoutReason.map(({ address }) => address)).toEqual(used.map(({ address }) => address))
    }),
    { numRuns: 1000 },
  )
})

/** What must change for the reason to be gone. */
const cures: Readonly<Record<WhyUnused, Partial<AnyEndpoint>>> = {
  'not ready': { ready: true, serving: true },
  terminating: { ready: true, serving: true, terminating: false },
  'no longer serving': { ready: true, serving: true, terminating: false },
  'on another node': { nodeName: 'here' },
  'for another zone': { zoneHints: ['a'] },
  'for another node': { nodeHints: ['here'] },
  'weight 0': { weight: 1 },
  unreachable: { isUnreachable: false },
}

test('a reason is the cause: without it the endpoint answers, or has another reason', () => {
  fc.assert(
    fc.property(anyService, fc.constantFrom(...policies), (chosen, policy) => {
      for (const [index, why] of reasons(chosen, policy).entries()) {
        if (why === undefined) continue
        const endpoints = chosen.endpoints.map((it, at) => (at === index ? { ...it, ...cures[why] } : it))
        expect(reasons({ ...chosen, endpoints }, policy)[index]).not.toBe(why)
      }
    }),
    { numRuns: 1000 },
  )
})
