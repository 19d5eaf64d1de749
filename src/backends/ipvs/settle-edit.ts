/** What the kernel holds after an edit of a virtual server, given what failed of it. */
import type { IpvsError, IpvsOperation } from '../../dataplane/ipvs/ipvs.ts'
import type { Draining } from './draining.ts'
import type { EndpointEdit, ServerEdit } from './server-edits.ts'
import type { WrittenEndpoint, WrittenServer } from './written.ts'

export interface Settled {
  /** Undefined: there is no such server. */
  readonly after: WrittenServer | undefined
  /** The first operation that failed. */
  readonly problem: { readonly operation: IpvsOperation; readonly error: IpvsError } | undefined
}

/** `operations` are those of the edit, `errorAt` speaks of them by their place. */
export function settleEdit(
  edit: ServerEdit,
  operations: readonly IpvsOperation[],
  errorAt: (index: number) => IpvsError | undefined,
  draining: Draining,
): Settled {
  const { wanted, before, operation } = edit
  const problemAt = (index: number): Settled['problem'] => {
    const error = errorAt(index)
    const failed = operations[index]
    return error === undefined || failed === undefined ? undefined : { operation: failed, error }
  }
  const serverProblem = operation === undefined ? undefined : problemAt(0)
  if (serverProblem !== undefined && before === undefined) return { after: undefined, problem: serverProblem }
  let problem = serverProblem
  const changed = new Map<string, WrittenEndpoint | undefined>()
  for (const [index, endpointEdit] of edit.endpoints.entries()) {
    const failed = problemAt(index + operations.length - edit.endpoints.length)
    const { endpoint } = endpointEdit
    if (failed === undefined || isGoneAnyway(endpointEdit, failed.error)) {
      changed.set(endpoint.address, settleEndpoint(edit, endpointEdit, failed?.error, draining))
      continue
    }
    problem ??= failed
    changed.set(endpoint.address, isThereStill(endpointEdit) ? endpoint : undefined)
  }
  if (problem === undefined) return { after: wanted, problem }
  const { ip, port, protocol, scheduler, flags, timeoutSeconds } = serverProblem && before ? before : wanted
  const endpoints = endpointsAfter(before, changed)
  return { after: { ip, port, protocol, scheduler, flags, timeoutSeconds, endpoints }, problem }
}

/** The endpoint, if it gets new connections now. */
function settleEndpoint(
  { wanted }: ServerEdit,
  { endpoint, does }: EndpointEdit,
  error: IpvsError | undefined,
  draining: Draining,
): WrittenEndpoint | undefined {
  const { ip, port, address } = endpoint
  if (does === 'drain') {
    if (error === undefined) draining.add(wanted, { ip, port, address })
    return undefined
  }
  draining.forget(wanted.id, address)
  return does === 'delete' ? undefined : { ip, port, address }
}

function isGoneAnyway({ does }: EndpointEdit, { reason }: IpvsError): boolean {
  return (does === 'drain' || does === 'delete') && reason === 'not-found'
}

/** What could not be taken away. */
function isThereStill({ does }: EndpointEdit): boolean {
  return does === 'drain' || does === 'delete'
}

function endpointsAfter(
  before: WrittenServer | undefined,
  changed: ReadonlyMap<string, WrittenEndpoint | undefined>,
): readonly WrittenEndpoint[] {
  const untouched = before?.endpoints.filter(({ address }) => !changed.has(address)) ?? []
  return [...untouched, ...[...changed.values()].filter((endpoint) => endpoint !== undefined)]
}
