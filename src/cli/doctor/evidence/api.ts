/** Whether this node reaches the API server, as whom, and with which rights. */
import { isIP } from 'node:net'
import { silentLogger as log } from '../../../core/logger.ts'
import { loadKubeAccess } from '../../../sources/kube/access/kube-access.ts'
import type { KubeAccess } from '../../../sources/kube/access/kube-access.ts'
import { KubeClient } from '../../../sources/kube/kube-client.ts'
import { KubeError } from '../../../sources/kube/kube-error.ts'
import { askServerClock } from '../../../sources/kube/server-clock.ts'
import type { ServerClock } from '../../../sources/kube/server-clock.ts'
import type { Host } from '../../host/host.ts'
import { fairleadVersion } from '../../program.ts'

export type ApiFacts =
  /** The objects come from files. */
  | { readonly kind: 'files' }
  /** The kubeconfig or a file that it names is of no use. */
  | { readonly kind: 'unusable'; readonly reason: string }
  | AskedApi

interface AskedApi {
  readonly kind: 'asked'
  readonly server: string
  readonly dns: DnsFacts | undefined
  /** Why no answer came. */
  readonly failure: { readonly reason: string; readonly message: string } | undefined
  readonly clock: ServerClock | undefined
  readonly rights: readonly Right[]
  /** Why the rights could not be asked for. */
  readonly rightsProblem: string | undefined
}

/** Undefined for a server that is named by its address. */
interface DnsFacts {
  readonly name: string
  readonly addresses: readonly string[]
  readonly problem: string | undefined
  readonly tookMs: number
}

interface Right {
  readonly group: string
  readonly resource: string
  readonly verb: string
  /** Without it the proxy works, but knows less, or cannot tell. */
  readonly isOptional: boolean
  readonly isAllowed: boolean
  readonly reason: string
}

type WantedRight = Omit<Right, 'isAllowed' | 'reason'>

const alwaysWanted: readonly [WantedRight, ...WantedRight[]] = [
  { group: '', resource: 'services', verb: 'list', isOptional: false },
  { group: '', resource: 'services', verb: 'watch', isOptional: false },
  ...both('discovery.k8s.io', 'endpointslices'),
  ...both('', 'nodes'),
  ...both('networking.k8s.io', 'servicecidrs', true),
  { group: 'events.k8s.io', resource: 'events', verb: 'create', isOptional: true },
]

function both(group: string, resource: string, isOptional = false): readonly WantedRight[] {
  return ['list', 'watch'].map((verb) => ({ group, resource, verb, isOptional }))
}

export interface ApiPlace {
  readonly kubeconfig: string
  readonly master: string
  /** They are asked only where they are read. */
  readonly readsNamespaces: boolean
  readonly isFromFiles: boolean
}

const patienceMs = 10_000

export async function readApi(
  place: ApiPlace,
  host: Pick<Host, 'env' | 'clock' | 'lookup'>,
  signal: AbortSignal,
): Promise<ApiFacts> {
  if (place.isFromFiles) return { kind: 'files' }
  const { env, clock } = host
  let access: KubeAccess
  try {
    access = await loadKubeAccess({ ...place, env, clock, log })
  } catch (error) {
    if (!(error instanceof KubeError)) throw error
    return { kind: 'unusable', reason: error.message }
  }
  const server = await access.server()
  const base = { kind: 'asked', server: server.origin, dns: await askDns(server, host) } as const
  const patience = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)])
  try {
    const answered = await askServerClock(access, clock, patience)
    return { ...base, clock: answered, ...(await askRights(access, place, host, patience)) }
  } catch (error) {
    signal.throwIfAborted()
    const failure = failureOf(error)
    return { ...base, failure, clock: undefined, rights: [], rightsProblem: undefined }
  }
}

async function askDns(server: URL, { lookup, clock }: Pick<Host, 'lookup' | 'clock'>): Promise<DnsFacts | undefined> {
  const name = server.hostname.replace(/^\[|\]$/g, '')
  if (isIP(name) !== 0) return undefined
  const startedAt = clock.monotonic()
  const facts = (addresses: readonly string[], problem?: string) => ({
    name,
    addresses,
    problem,
    tookMs: clock.monotonic() - startedAt,
  })
  return Promise.race([lookup(name), tooSlow()]).then(
    (addresses) => facts(addresses),
    (error: unknown) => facts([], (error as Error).message),
  )
}

/** The resolver cannot be told to give up. */
function tooSlow(): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`no answer in ${patienceMs / 1000} s`)), patienceMs).unref()
  })
}

/** An answer to any of them shows that the server takes our credentials. */
async function askRights(
  access: KubeAccess,
  { readsNamespaces }: ApiPlace,
  { clock }: Pick<Host, 'clock'>,
  signal: AbortSignal,
): Promise<Pick<AskedApi, 'failure' | 'rights' | 'rightsProblem'>> {
  await using client = new KubeClient({ access, clock, version: fairleadVersion(), qps: -1 })
  const review = async (right: WantedRight): Promise<Right> => {
    const { group, resource, verb } = right
    const body = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { group, resource, verb } },
    }
    const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
    const answer = (await client.request({ method: 'POST', path, body }, signal)) as Review
    return { ...right, isAllowed: answer.status?.allowed === true, reason: answer.status?.reason ?? '' }
  }
  try {
    // One first: who is not known gets one refusal, not nine.
    const [first, ...always] = alwaysWanted
    const rest = readsNamespaces ? [...always, ...both('', 'namespaces', true)] : always
    const rights = [await review(first), ...(await Promise.all(rest.map(review)))]
    return { failure: undefined, rights, rightsProblem: undefined }
  } catch (error) {
    if (!(error instanceof KubeError)) throw error
    const isAboutReviews = error.reason === 'forbidden' || error.reason === 'not-found'
    if (isAboutReviews) return { failure: undefined, rights: [], rightsProblem: error.message }
    return { failure: failureOf(error), rights: [], rightsProblem: undefined }
  }
}

interface Review {
  readonly status?: { readonly allowed?: boolean; readonly reason?: string }
}

function failureOf(error: unknown): NonNullable<AskedApi['failure']> {
  if (error instanceof KubeError) return { reason: error.reason, message: error.message }
  return { reason: 'timeout', message: `no answer in ${patienceMs / 1000} s` }
}
