import { parseCidr } from '../net/ip.ts'
import type { Cidr } from '../net/ip.ts'
import { shownValue } from '../net/shown-value.ts'
import type { Identified } from './identified.ts'
import type { ServiceCidrRecord } from './records.ts'

export function parseServiceCidr({ raw, name, read }: Identified): ServiceCidrRecord {
  const cidrs: Cidr[] = []
  for (const [text, index] of read.strings(read.object(raw, 'spec', 'spec'), 'cidrs', 'spec.cidrs')) {
    const cidr = parseCidr(text)
    if (cidr === undefined) read.problem(`spec.cidrs[${index}]`, `${shownValue(text)} is not a CIDR`)
    else cidrs.push(cidr)
  }
  return { kind: 'ServiceCIDR', name, cidrs }
}
