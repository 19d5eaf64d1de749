/** What HNS did with an edit, and which routes that leaves without service. */
import type { SyncReport } from '../../core/backend.ts'
import type { Logger } from '../../core/logger.ts'
import type { RouteKey } from '../../core/route.ts'
import { HcnError } from '../../dataplane/hcn/hcn.ts'
import type { Hcn, HcnEndpoint } from '../../dataplane/hcn/hcn.ts'
import type { OwnedObjects } from '../../dataplane/owned-objects/owned-objects.ts'
import type { BalancerReader } from './balancer-reader.ts'
import type { KernelspaceEdit } from './edit.ts'
import type { EndpointReader } from './endpoint-reader.ts'
import { usedIps, withEndpoints } from './endpoint-table.ts'
import type { EndpointTable } from './endpoint-table.ts'
import type { HeldBalancer, Written } from './held.ts'
import { ownedBalancer, ownedEndpoint } from './owned-names.ts'
import type { Frontend } from './owned-names.ts'
import { ipsOf } from './route-plan.ts'

export interface CommitContext {
  readonly hcn: Hcn
  readonly owned: OwnedObjects
  /** Remember what is made here. */
  readonly readers: Readers
  readonly abilities: Abilities
  readonly log: Logger
}

export interface Readers {
  readonly endpoints: EndpointReader
  readonly balancers: BalancerReader
}

/** Changes when HNS cannot do what its version promised. */
export interface Abilities {
  canModify: boolean
  /** It takes changes that it does not make, and that was said. */
  isToldOfUnmade: boolean
}

/** HNS is not what we took it for: somebody else changed it. It must be read before more is written. */
export class ChangedByOthers extends Error {
  override readonly name = 'ChangedByOthers'
}

/** HNS works, and does not take this. Anything else is thrown. */
export function refusalOf(error: unknown): HcnError {
  if (!(error instanceof HcnError)) throw error
  switch (error.reason) {
    case 'refused':
    case 'not-found':
    case 'already-exists':
    case 'port-already-exists':
    case 'not-implemented':
      return error
    case 'unavailable':
    case 'timed-out':
    case 'missing':
      throw error
    default:
      return error.reason satisfies never
  }
}

/** What HNS did with an edit, gathered step by step. */
export class Committed {
  readonly #edit: KernelspaceEdit
  /** How many of each, for the log line. */
  readonly counts = { created: 0, modified: 0, deleted: 0, endpointsCreated: 0, endpointsDeleted: 0 }
  /** Why something could not be written. */
  readonly failures = { frontends: new Map<Frontend, string>(), ips: new Map<string, string>() }
  readonly left: { readonly balancers: Map<string, HeldBalancer>; readonly endpoints: Set<string> }
  /** What is there no more. */
  readonly #gone = { frontends: new Set<Frontend>(), ips: new Set<string>() }
  readonly #held = new Map<Frontend, HeldBalancer | undefined>()
  #table: EndpointTable

  constructor(edit: KernelspaceEdit) {
    this.#edit = edit
    this.#table = edit.after.table
    this.left = { balancers: new Map(edit.after.left.balancers), endpoints: new Set() }
  }

  get table(): EndpointTable {
    return this.#table
  }

  addEndpoint(endpoint: HcnEndpoint): void {
    this.#table = withEndpoints(this.#table, { added: [endpoint], removed: [] })
  }

  removeEndpoint(endpoint: HcnEndpoint): void {
    this.#table = withEndpoints(this.#table, { added: [], removed: [endpoint] })
    for (const ip of usedIps(endpoint)) this.#gone.ips.add(ip)
  }

  held(frontend: Frontend): HeldBalancer | undefined {
    return this.#held.has(frontend) ? this.#held.get(frontend) : this.#edit.after.held.get(frontend)
  }

  hold(frontend: Frontend, balancer: HeldBalancer | undefined): void {
    this.#held.set(frontend, balancer)
  }

  /** For good; not to be made anew. */
  disown(frontend: Frontend): void {
    this.#gone.frontends.add(frontend)
  }

  /** Names of what is ours no more. HNS may have a second object that has the same name. */
  disowned(): readonly string[] {
    const left = new Set(Array.from(this.left.balancers.values(), ({ frontend }) => frontend))
    const isThere = (ip: string) => this.#table.byIp.get(ip)?.some(({ isRemote }) => isRemote) === true
    return [
      ...[...this.#gone.frontends].filter((it) => this.held(it) === undefined && !left.has(it)).map(ownedBalancer),
      ...[...this.#gone.ips].filter((ip) => !isThere(ip)).map(ownedEndpoint),
    ]
  }

  /** What HNS holds now. */
  written(): Written {
    const { after } = this.#edit
    return {
      ...after,
      table: this.#table,
      held: after.held.with(this.#held),
      left: this.left,
      failedKeys: new Set([...after.failedKeys, ...this.failed().map(({ key }) => key)]),
    }
  }

  /** Of the routes of the edit. */
  failed(): SyncReport['failed'] {
    return this.#edit.keys.flatMap((key) => {
      const reason = this.#reasonFor(key)
      return reason === undefined ? [] : [{ key, reason }]
    })
  }

  #reasonFor(key: RouteKey): string | undefined {
    const { plan } = this.#edit.after
    const route = plan.routesByKey.get(key)
    if (route === undefined) return undefined
    for (const { frontend, kind } of route.balancers) {
      const [winner] = plan.claimsByFrontend.get(frontend) ?? []
      if (winner !== undefined && winner.key !== key && kind !== 'health-check') return lostTo(frontend, winner.key)
      const reason = this.failures.frontends.get(frontend)
      if (reason !== undefined) return reason
    }
    if (this.failures.ips.size === 0) return undefined
    return [...ipsOf(route)].map((ip) => this.failures.ips.get(ip)).find((reason) => reason !== undefined)
  }
}

function lostTo(frontend: Frontend, winner: RouteKey): string {
  return `${frontend} is a frontend of ${winner} already: give one of the two Services another port or address`
}
