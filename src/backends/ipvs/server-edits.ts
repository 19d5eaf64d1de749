/** The operations that lead from the virtual servers that were written to those that are wanted. */
import type { Protocol } from '../../api/records.ts'
import type { IpvsError, IpvsOperation, ServerAddress, VirtualServer } from '../../dataplane/ipvs/ipvs.ts'
import type { Draining } from './draining.ts'
import type { PlannedServer } from './planned-server.ts'
import type { WrittenEndpoint, WrittenServer } from './written.ts'

export interface ServerEdit {
  readonly wanted: PlannedServer
  readonly before: WrittenServer | undefined
  /** The virtual server itself; undefined when it is as it should be. */
  readonly operation: IpvsOperation | undefined
  readonly endpoints: readonly EndpointEdit[]
}

export interface EndpointEdit {
  readonly endpoint: WrittenEndpoint
  readonly does: 'add' | 'revive' | 'drain' | 'delete'
}

/** Undefined when nothing differs. */
export function serverEdit(
  wanted: PlannedServer,
  before: WrittenServer | undefined,
  draining: Draining,
): ServerEdit | undefined {
  const endpoints = endpointEdits(wanted, before, draining)
  const operation = serverOperation(wanted, before)
  return operation === undefined && endpoints.length === 0 ? undefined : { wanted, before, operation, endpoints }
}

/** The server first: what stands behind it needs it. New endpoints come before old ones go. */
export function operationsOf({ wanted, operation, endpoints }: ServerEdit): readonly IpvsOperation[] {
  const server: ServerAddress = wanted
  const onEndpoints = endpoints.map((edit) => endpointOperation(server, edit))
  return operation === undefined ? onEndpoints : [operation, ...onEndpoints]
}

/**
 * Whether the kernel is not what we took it for: somebody else made or removed something. Then it must be read again.
 * What shall go and is gone already is no surprise.
 */
export function isSurprise(operation: IpvsOperation, { reason }: Pick<IpvsError, 'reason'>): boolean {
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

function serverOperation(wanted: PlannedServer, before: WrittenServer | undefined): IpvsOperation | undefined {
  if (before === undefined) return { kind: 'add-server', server: wanted }
  return isSameServer(wanted, before) ? undefined : { kind: 'edit-server', server: wanted }
}

export function isSameServer(left: VirtualServer, right: VirtualServer): boolean {
  return (
    left.scheduler === right.scheduler && left.flags === right.flags && left.timeoutSeconds === right.timeoutSeconds
  )
}

function endpointEdits(wanted: PlannedServer, before: WrittenServer | undefined, draining: Draining): EndpointEdit[] {
  // The plan of an endpoint list that did not change is the same list.
  if (before?.endpoints === wanted.endpoints) return []
  const beforeByAddress = new Map(before?.endpoints.map((endpoint) => [endpoint.address, endpoint]))
  const edits: EndpointEdit[] = []
  for (const endpoint of wanted.endpoints) {
    const found = beforeByAddress.get(endpoint.address)
    beforeByAddress.delete(endpoint.address)
    if (found?.weight !== undefined && found.weight !== 1) edits.push({ endpoint, does: 'revive' })
    else if (found === undefined)
      edits.push({ endpoint, does: draining.has(wanted.id, endpoint.address) ? 'revive' : 'add' })
  }
  const removal = drains[wanted.protocol] ? 'drain' : 'delete'
  for (const endpoint of beforeByAddress.values()) edits.push({ endpoint, does: removal })
  return edits
}

/** A UDP or SCTP flow cannot be told to have ended, so waiting for that could take for ever. */
const drains: Readonly<Record<Protocol, boolean>> = { TCP: true, UDP: false, SCTP: false }

function endpointOperation(server: ServerAddress, { endpoint, does }: EndpointEdit): IpvsOperation {
  const { ip, port } = endpoint
  switch (does) {
    case 'add':
      return { kind: 'add-real-server', server, realServer: { ip, port, weight: 1 } }
    case 'revive':
      return { kind: 'edit-real-server', server, realServer: { ip, port, weight: 1 } }
    case 'drain':
      return { kind: 'edit-real-server', server, realServer: { ip, port, weight: 0 } }
    case 'delete':
      return { kind: 'delete-real-server', server, realServer: { ip, port } }
    default:
      return does satisfies never
  }
}
