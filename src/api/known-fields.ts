/** The fields that Kubernetes has in the kinds that Fairlead reads, to notice mistyped ones. */
import { nearestName } from '../net/nearest-name.ts'
import { isJsonObject } from './json-reader.ts'
import type { JsonObject } from './json-reader.ts'

/** The fields of an object, or of each object in a list. `any`: plain values, maps, and what no proxy reads. */
interface FieldTree {
  readonly [name: string]: FieldTree | 'any'
}

const ownerReferences = fields('apiVersion kind name uid controller blockOwnerDeletion')
const objectReference = fields('apiVersion kind namespace name uid resourceVersion fieldPath')
const metadata: FieldTree = {
  ...fields('name generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp'),
  ...fields('deletionGracePeriodSeconds labels annotations finalizers managedFields clusterName'),
  ownerReferences,
}
const common: FieldTree = { ...fields('apiVersion kind'), metadata }
const endpointAddress: FieldTree = { ...fields('ip hostname nodeName'), targetRef: objectReference }

export const knownFields: Readonly<Record<string, FieldTree>> = {
  Service: {
    ...common,
    spec: {
      ...fields(
        'selector clusterIP clusterIPs type externalIPs sessionAffinity loadBalancerIP loadBalancerSourceRanges',
      ),
      ...fields('externalName externalTrafficPolicy healthCheckNodePort publishNotReadyAddresses ipFamilies'),
      ...fields('ipFamilyPolicy allocateLoadBalancerNodePorts loadBalancerClass internalTrafficPolicy'),
      ...fields('trafficDistribution'),
      ports: fields('name protocol appProtocol port targetPort nodePort'),
      sessionAffinityConfig: { clientIP: fields('timeoutSeconds') },
    },
    status: {
      loadBalancer: { ingress: { ...fields('ip hostname ipMode'), ports: fields('port protocol error') } },
      conditions: 'any',
    },
  },
  EndpointSlice: {
    ...common,
    addressType: 'any',
    endpoints: {
      // The topology is from v1beta1.
      ...fields('addresses hostname deprecatedTopology topology nodeName zone'),
      conditions: fields('ready serving terminating'),
      targetRef: objectReference,
      hints: { forZones: fields('name'), forNodes: fields('name') },
    },
    ports: fields('name protocol port appProtocol'),
  },
  Endpoints: {
    ...common,
    subsets: {
      addresses: endpointAddress,
      notReadyAddresses: endpointAddress,
      ports: fields('name port protocol appProtocol'),
    },
  },
  Node: { ...common, spec: 'any', status: 'any' },
  ServiceCIDR: { ...common, spec: fields('cidrs'), status: 'any' },
  Namespace: { ...common, spec: 'any', status: 'any' },
}

export interface UnknownField {
  /** Keys and indexes from the object down to the field. */
  readonly path: readonly (string | number)[]
  readonly nearest: string | undefined
}

export function unknownFields(kind: string, object: JsonObject): readonly UnknownField[] {
  const tree = knownFields[kind]
  return tree === undefined ? [] : [...unknownIn(object, tree, [])]
}

function* unknownIn(value: unknown, tree: FieldTree, path: readonly (string | number)[]): Generator<UnknownField> {
  if (Array.isArray(value)) for (const [index, item] of value.entries()) yield* unknownIn(item, tree, [...path, index])
  if (!isJsonObject(value)) return // the parser reports a wrong type
  for (const [name, inner] of Object.entries(value)) {
    const known = Object.hasOwn(tree, name) ? tree[name] : undefined
    if (known === undefined)
      yield { path: [...path, name], nearest: nearestName(name.slice(0, 100), Object.keys(tree)) }
    else if (known !== 'any') yield* unknownIn(inner, known, [...path, name])
  }
}

function fields(names: string): Readonly<Record<string, 'any'>> {
  return Object.fromEntries(names.split(' ').map((name) => [name, 'any']))
}
