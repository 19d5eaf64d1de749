/** Checks of ports and protocols, shared by Services, EndpointSlices and Endpoints. */
import type { FieldError } from '../resource.ts'
import { invalid, notSupported, required } from './field-errors.ts'

const protocols = ['TCP', 'UDP', 'SCTP']

export function portNumberErrors(field: string, port: number): FieldError[] {
  return port >= 1 && port <= 65535 ? [] : [invalid(field, port, 'must be between 1 and 65535, inclusive')]
}

export function protocolErrors(field: string, protocol: string | undefined): FieldError[] {
  if (protocol === undefined || protocol === '') return [required(field)]
  return protocols.includes(protocol) ? [] : [notSupported(field, protocol, protocols)]
}
