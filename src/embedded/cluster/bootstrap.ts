/** What every cluster has before anything is created. Runs at each start, because the server's port may differ. */
import type { Logger } from '../../core/logger.ts'
import { familyOf, parseCidr } from '../../net/ip.ts'
import { AddressRange } from './allocator-range.ts'
import { createObject } from '../verbs/create.ts'
import type { Kind, Kinds } from '../verbs/kinds.ts'
import { updateObject } from '../verbs/update.ts'
import type { WriteContext } from '../verbs/write.ts'
import type { ApiObject } from '../resource.ts'
import { ApiError } from '../status.ts'
import type { Store } from '../store/store.ts'

export interface BootstrapOptions {
  readonly store: Store
  readonly kinds: Kinds
  readonly context: WriteContext
  readonly log: Logger
  readonly serviceCidrs: readonly string[]
  /** Where the server itself can be reached. */
  readonly host: string
  readonly port: number
}

const namespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease'] as const

export async function bootstrap(options: BootstrapOptions): Promise<void> {
  for (const name of namespaces) await ensure(options, 'namespaces', { metadata: { name } })
  await ensure(options, 'servicecidrs', { metadata: { name: 'kubernetes' }, spec: { cidrs: options.serviceCidrs } })
  await ensure(options, 'services', kubernetesService(options))
  await ensure(options, 'endpoints', kubernetesEndpoints(options), 'update')
  await ensure(options, 'endpointslices', kubernetesSlice(options), 'update')
}

type Content = Omit<ApiObject, 'apiVersion' | 'kind'>

const apiServerLabels = { component: 'apiserver', provider: 'kubernetes' }
const meta = { name: 'kubernetes', namespace: 'default' }

function kubernetesService({ serviceCidrs, port }: BootstrapOptions): Content {
  const [first] = serviceCidrs
  const cidr = first === undefined ? undefined : parseCidr(first)
  const clusterIP = cidr === undefined ? {} : { clusterIP: new AddressRange(cidr).firstAddress }
  return {
    metadata: { ...meta, labels: apiServerLabels },
    spec: { ...clusterIP, ports: [{ name: 'https', protocol: 'TCP', port: 443, targetPort: port }] },
  }
}

function kubernetesEndpoints({ host, port }: BootstrapOptions): Content {
  return {
    metadata: { ...meta, labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
    subsets: [{ addresses: [{ ip: host }], ports: [{ name: 'https', port, protocol: 'TCP' }] }],
  }
}

function kubernetesSlice({ host, port }: BootstrapOptions): Content {
  return {
    metadata: { ...meta, labels: { 'kubernetes.io/service-name': 'kubernetes' } },
    addressType: familyOf(host) === 'ipv4' ? 'IPv4' : 'IPv6',
    endpoints: [{ addresses: [host], conditions: { ready: true } }],
    ports: [{ name: 'https', port, protocol: 'TCP' }],
  }
}

/** Creates the object unless it exists; with `update`, an existing one gets this content. */
async function ensure(options: BootstrapOptions, plural: string, content: Content, then?: 'update'): Promise<void> {
  const { store, kinds, context, log } = options
  const kind = kinds.all.find(({ type }) => type.plural === plural)
  if (kind === undefined) return
  const object = objectOf(kind, content)
  const { name, namespace } = object.metadata
  const track = (untracked: ApiObject) => untracked
  const target = { kind, namespace, isDryRun: false, track }
  try {
    await store.write((transaction) => {
      const isThere = transaction.get(kind.collection, namespace, name) !== undefined
      if (!isThere) createObject(transaction, { ...target, object }, context)
      else if (then === 'update')
        updateObject(transaction, { ...target, name, subresource: undefined, change: () => object }, context)
    })
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    log.warn('an object of a new cluster could not be created', { kind: kind.type.kind, name, problem: error.message })
  }
}

function objectOf({ type }: Kind, content: Content): ApiObject {
  const apiVersion = type.group === '' ? type.version : `${type.group}/${type.version}`
  return { apiVersion, kind: type.kind, ...content } as ApiObject
}
