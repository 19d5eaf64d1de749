import { familyOf, parseCidr, parseIp, renderCidr } from '../net/ip.ts'
import { shownValue } from '../net/shown-value.ts'
import type { JsonObject, JsonReader } from './json-reader.ts'
import type { Identified } from './identified.ts'
import type { NodeRecord } from './records.ts'

const zoneLabel = 'topology.kubernetes.io/zone'

export function parseNode({ raw, metadata, name, read }: Identified): NodeRecord {
  const spec = read.object(raw, 'spec', 'spec')
  const labels = read.object(metadata, 'labels', 'metadata.labels')
  const taintKeys: string[] = []
  for (const [taint, index] of read.objects(spec, 'taints', 'spec.taints'))
    taintKeys.push(read.string(taint, 'key', `spec.taints[${index}].key`))
  return {
    kind: 'Node',
    name,
    ...parseNodeIps(raw, read),
    podCIDRs: parsePodCidrs(spec, read),
    zone: read.string(labels, zoneLabel, `metadata.labels["${zoneLabel}"]`),
    isBeingDeleted: metadata['deletionTimestamp'] !== undefined && metadata['deletionTimestamp'] !== null,
    taintKeys,
  }
}

/** Internal addresses before external ones. The first is the primary, the first of the other family the second. */
function parseNodeIps(raw: JsonObject, read: JsonReader): Pick<NodeRecord, 'ips' | 'otherIps'> {
  const status = read.object(raw, 'status', 'status')
  const internal: string[] = []
  const external: string[] = []
  for (const [address, index] of read.objects(status, 'addresses', 'status.addresses')) {
    const type = address['type']
    if (type !== 'InternalIP' && type !== 'ExternalIP') continue
    const text = read.string(address, 'address', `status.addresses[${index}].address`)
    const ip = parseIp(text)
    if (ip === undefined) read.problem(`status.addresses[${index}].address`, `${shownValue(text)} is not an IP address`)
    else (type === 'InternalIP' ? internal : external).push(ip)
  }
  const ordered = [...internal, ...external]
  const [primary] = ordered
  if (primary === undefined) return { ips: [] }
  const secondary = ordered.find((ip) => familyOf(ip) !== familyOf(primary))
  const usable = secondary === undefined ? [primary] : [primary, secondary]
  const otherIps = [...new Set(ordered)].filter((ip) => !usable.includes(ip))
  return { ips: usable, ...(otherIps.length > 0 && { otherIps }) }
}

function parsePodCidrs(spec: JsonObject, read: JsonReader): string[] {
  const cidrs: string[] = []
  for (const [text, index] of read.strings(spec, 'podCIDRs', 'spec.podCIDRs')) {
    const cidr = parseCidr(text)
    if (cidr === undefined) read.problem(`spec.podCIDRs[${index}]`, `${shownValue(text)} is not a CIDR`)
    else cidrs.push(renderCidr(cidr))
  }
  return cidrs
}
