/**
 * What HNS says when it refuses: a code, and often a record, e.g.
 * `{"Success":false,"Error":"The specified port already exists. ","ErrorCode":2151350291}`.
 */
import { isJsonObject } from '../../api/json-reader.ts'
import { HcnError } from './hcn.ts'
import type { HcnReason } from './hcn.ts'

export const hresult = {
  ok: 0,
  notImplemented: 0x80004001,
  accessDenied: 0x80070005,
  outOfMemory: 0x8007000e,
  invalidParameter: 0x80070057,
  generalFailure: 0x8007001f,
  alreadyExists: 0x800700b7,
  elementNotFound: 0x80070490,
  rpcUnavailable: 0x800706ba,
  networkNotFound: 0x803b0001,
  endpointNotFound: 0x803b0002,
  subnetNotFound: 0x803b0005,
  switchPortNotFound: 0x803b0007,
  portNotFound: 0x803b0008,
  policyInvalid: 0x803b000d,
  portAlreadyExists: 0x803b0013,
  unsupported: 0x803b0015,
  invalidJson: 0x803b001b,
  addressOutsideSubnets: 0x803b001e,
  hasReferences: 0x803b002c,
  internalPortMissing: 0x803b002d,
  addressReserved: 0x803b002f,
} as const

const texts: ReadonlyMap<number, string> = new Map([
  [hresult.notImplemented, 'Not implemented'],
  [hresult.accessDenied, 'Access is denied.'],
  [hresult.outOfMemory, 'Not enough memory resources are available to complete this operation.'],
  [hresult.invalidParameter, 'The parameter is incorrect.'],
  [hresult.generalFailure, 'A device attached to the system is not functioning.'],
  [hresult.alreadyExists, 'Cannot create a file when that file already exists.'],
  [hresult.elementNotFound, 'Element not found.'],
  [hresult.rpcUnavailable, 'The RPC server is unavailable.'],
  [hresult.networkNotFound, 'The network was not found.'],
  [hresult.endpointNotFound, 'The endpoint was not found.'],
  [hresult.subnetNotFound, 'A subnet was not found for this endpoint.'],
  [hresult.switchPortNotFound, 'The switch port was not found.'],
  [hresult.portNotFound, 'The port was not found.'],
  [hresult.policyInvalid, 'The provided policy configuration is invalid or missing parameters.'],
  [hresult.portAlreadyExists, 'The specified port already exists.'],
  [hresult.unsupported, 'The specified request is unsupported.'],
  [hresult.invalidJson, 'Invalid JSON document string.'],
  [hresult.addressOutsideSubnets, 'The IP address provided is invalid or does not belong to any configured subnet.'],
  [hresult.hasReferences, 'The specified entity cannot be removed while it still has references.'],
  [hresult.internalPortMissing, 'The internal port must exist and cannot be zero.'],
  [hresult.addressReserved, 'The address provided is invalid or reserved.'],
])

const reasons: ReadonlyMap<number, HcnReason> = new Map([
  [hresult.elementNotFound, 'not-found'],
  [hresult.networkNotFound, 'not-found'],
  [hresult.endpointNotFound, 'not-found'],
  [hresult.portNotFound, 'not-found'],
  [hresult.alreadyExists, 'already-exists'],
  [hresult.portAlreadyExists, 'port-already-exists'],
  [hresult.notImplemented, 'not-implemented'],
  [hresult.accessDenied, 'unavailable'],
  [hresult.outOfMemory, 'unavailable'],
])

/** As HNS writes it: a space after the text, and the code unsigned. */
export function renderErrorRecord(code: number): string {
  return JSON.stringify({ Success: false, Error: `${textOf(code)} `, ErrorCode: code >>> 0 })
}

/** Returns nothing if the call succeeded. A record says that it did not, whatever the code says. */
export function failureOf(operation: string, code: number, record: string): HcnError | undefined {
  const failed = code >>> 0
  if (failed < 0x80000000 && record === '') return undefined
  const isSilent = failed < 0x80000000
  const known = isSilent ? hresult.generalFailure : failed
  const text = texts.get(known) ?? textIn(record) ?? 'Unknown error.'
  return new HcnError(
    isSilent ? 'refused' : reasonOf(known),
    `${operation} failed in Win32: ${text} (0x${unwrapped(known).toString(16)})${record === '' ? '' : ` ${record}`}`,
    { hresult: known },
  )
}

/** Codes, from and to, that say that HNS could not be asked: it is starting, being stopped, or not allowed to run. */
const unavailableRanges = [
  // The service controller: it does not respond, is disabled, is not started, was never started.
  [0x8007041b, 0x80070437],
  // The system shuts down.
  [0x8007045b, 0x8007045b],
  // RPC, as codes of Win32, and in a facility of its own.
  [0x800706a4, 0x800706ff],
  [0x80010000, 0x8001ffff],
] as const

/** Whatever else HNS answers concerns what it was asked; all other objects can still be programmed. */
function reasonOf(code: number): HcnReason {
  const isUnavailable = unavailableRanges.some(([from, to]) => from <= code && code <= to)
  return reasons.get(code) ?? (isUnavailable ? 'unavailable' : 'refused')
}

/** Codes of Win32 travel inside an HRESULT; people know them without it. */
function unwrapped(code: number): number {
  return (code & 0x1fff0000) === 0x00070000 ? code & 0xffff : code
}

function textOf(code: number): string {
  return texts.get(code) ?? 'Unknown error.'
}

function textIn(record: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(record)
    const text = isJsonObject(parsed) ? parsed['Error'] : undefined
    return typeof text === 'string' && text.trim() !== '' ? text.trim() : undefined
  } catch {
    return undefined
  }
}
