/** The operations that lead from a virtual server as the kernel holds it to the one that is wanted. */
import type { Protocol } from '../../api/records.ts'
import type { IpvsError, IpvsOperation, ServerAddress, VirtualServer } from '../../dataplane/ipvs/ipvs.ts'
import type { Draining } from './draining.ts'
import type { HeldEndpoint, HeldServer } from './held.ts'
import type { PlannedServer } from './planned-server.ts'

/** What an edit depends on besides the plan and the kernel. */
export interface EditContext {
  readonly draining: Pick<Draining, 'has'>
  /** Virtual servers that nobody may delete. */
  isExcluded(ip: string): boolean
}

export interface ServerEdit {
  readonly wanted: PlannedServer
  readonly before: HeldServer | undefined
  /** The virtual server itself; undefined when it is as it should be. */
  readonly operation: IpvsOperation | undefined
  readonly endpoints: readonly EndpointEdit[]
}

export interface EndpointEdit {
  readonly endpoint: HeldEndpoint
  /** `weigh`: its weight becomes another, or what it was before it drained. */
  readonly does: 'add' | 'weigh' | 'drain' | 'delete'
}

export function serverEdit(
  wanted: PlannedServer,
  before: HeldServer | undefined,
  draining: EditContext['draining'],
): ServerEdit | undefined {
  const endpoints = endpointEdits(wanted, before, draining)
  const operation = serverOperation(wanted, before)
  return operation === undefined && endpoints.length === 0 ? undefined : { wanted, before, operation, endpoints }
}

export interface ServerOperation {
  readonly operation: IpvsOperation
  /** Undefined: it is about the server itself. */
  readonly endpoint: EndpointEdit | undefined
}

/** The server first: what stands behind it needs it. New endpoints come before old ones go. */
export function operationsOf({ wanted, operation, endpoints }: ServerEdit): readonly ServerOperation[] {
  const onEndpoints = endpoints.map((endpoint) => ({ operation: endpointOperation(wanted, endpoint), endpoint }))
  return operation === undefined ? onEndpoints : [{ operation, endpoint: undefined }, ...onEndpoints]
}

/**
 * Whether the failure tells that somebody else made or removed something. Then the kernel must be read again. What shall
 * go and is gone already tells nothing.
 */
export function showsOthersChange(operation: IpvsOperation, { reason }: Pick<IpvsError, 'reason'>): boolean {
  switch (operation.kind) {
    case 'add-server':
      return reason === 'exists'
    case 'add-real-server':
      return reason === 'exists' || reason === 'not-found'
    case 'edit-server':
      return reason === 'not-found'
    case 'edit-real-server':
      return reason === 'not-found' && operation.realServer.weight > 0
    case 'delete-server':
    case 'delete-real-server':
      return false
    default:
      return operation satisfies never
  }
}

function serverOperation(wanted: PlannedServer, before: HeldServer | undefined): IpvsOperation | undefined {
  if (before === undefined) return { kind: 'add-server', server: wanted }
  return isSameServer(wanted, before) ? undefined : { kind: 'edit-server', server: wanted }
}

export function isSameServer(left: VirtualServer, right: VirtualServer): boolean {
  return (
    left.scheduler === right.scheduler && left.flags === right.flags && left.timeoutSeconds === right.timeoutSeconds
  )
}

function endpointEdits(
  wanted: PlannedServer,
  before: HeldServer | undefined,
  draining: EditContext['draining'],
): EndpointEdit[] {
  // The plan of an endpoint list that did not change is the same list.
  if (before?.endpoints === wanted.endpoints) return []
  const beforeByAddress = new Map(before?.endpoints.map((endpoint) => [endpoint.address, endpoint]))
  const edits: EndpointEdit[] = []
  for (const endpoint of wanted.endpoints) {
    const found = beforeByAddress.get(endpoint.address)
    beforeByAddress.delete(endpoint.address)
    if (found === undefined) edits.push({ endpoint, does: draining.has(wanted.id, endpoint.address) ? 'weigh' : 'add' })
    else if (found.weight !== endpoint.weight) edits.push({ endpoint, does: 'weigh' })
  }
  const removal = drains[wanted.protocol] ? 'drain' : 'delete'
  for (const endpoint of beforeByAddress.values()) edits.push({ endpoint, does: removal })
  return edits
}

/** A UDP or SCTP flow cannot be told to have ended, so waiting for that could take for ever. */
const drains: Readonly<Record<Protocol, boolean>> = { TCP: true, UDP: false, SCTP: false }

function endpointOperation(server: ServerAddress, { endpoint, does }: EndpointEdit): IpvsOperation {
  const { ip, port, weight } = endpoint
  switch (does) {
    case 'add':
      return { kind: 'add-real-server', server, realServer: { ip, port, weight } }
    case 'weigh':
      return { kind: 'edit-real-server', server, realServer: { ip, port, weight } }
    case 'drain':
      return { kind: 'edit-real-server', server, realServer: { ip, port, weight: 0 } }
    case 'delete':
      return { kind: 'delete-real-server', server, realServer: { ip, port } }
    default:
      return does satisfies never
  }
}
