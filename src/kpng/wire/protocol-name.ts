import { protocols } from '../../api/port-range.ts'
import type { Protocol as Name } from '../../api/records.ts'
import { Protocol } from '../proto/generated/localv1/api.ts'

/** Undefined for one that the server does not know either. */
export function protocolName(protocol: Protocol): Name | undefined {
  return protocols.find((name) => Protocol[name] === protocol)
}
