/** Frames as lines that a test can read. */
import { EndpointInfo, NodeInfo, ServiceInfo } from '../proto/generated/globalv1/api.ts'
import { Endpoint, OpItem, Service, Set as Sets } from '../proto/generated/localv1/api.ts'
import type { OpBytes } from '../store/op-bytes.ts'
import { frameHeaderLength } from '../wire/op-frames.ts'

export function framesOf(parts: Iterable<OpBytes> | undefined): Buffer[] {
  return Array.from(parts ?? [], ({ bytes }) => bytes)
}

export function readFrames(bytes: Buffer | readonly Buffer[]): OpItem[] {
  const whole = Buffer.isBuffer(bytes) ? bytes : Buffer.concat(bytes)
  const items: OpItem[] = []
  for (let at = 0; at < whole.length;) {
    const end = at + frameHeaderLength + whole.readUInt32BE(at + 1)
    items.push(OpItem.decode(whole.subarray(at + frameHeaderLength, end)))
    at = end
  }
  return items
}

/** `+ default/web` is set, `- default/web` is deleted; endpoints are shown with their addresses and scopes. */
export function opLine({ Op: op }: OpItem): string {
  switch (op?.$case) {
    case 'Set':
      return `+ ${op.value.Ref?.Path ?? ''}${detail(op.value.Ref?.Set, op.value.Bytes)}`
    case 'Delete':
      return `- ${op.value.Path}`
    case 'Sync':
      return 'sync'
    case 'Reset':
      return 'reset'
    case undefined:
      return 'nothing'
    default:
      return op satisfies never
  }
}

export function opLines(bytes: Buffer | readonly Buffer[]): string[] {
  return readFrames(bytes).map(opLine)
}

function detail(set: Sets | undefined, bytes: Uint8Array): string {
  if (set === Sets.ServicesSet) {
    const ports = Service.decode(bytes).Ports.map(({ Port }) => Port)
    return ` ${ports.join(',')}`
  }
  if (set === Sets.EndpointsSet) return ` ${endpointText(Endpoint.decode(bytes))}`
  if (set === Sets.GlobalServiceInfos) return ` ${ServiceInfo.decode(bytes).Service?.Type}`
  if (set === Sets.GlobalEndpointInfos) return ` ${endpointText(EndpointInfo.decode(bytes).Endpoint)}`
  return ` ${NodeInfo.decode(bytes).Node?.Topology?.Zone}`
}

function endpointText(endpoint: Endpoint | undefined): string {
  const ips = [...(endpoint?.IPs?.V4 ?? []), ...(endpoint?.IPs?.V6 ?? [])].join(',')
  const { Internal = false, External = false } = endpoint?.Scopes ?? {}
  return [ips, endpoint?.Local ? 'local' : '', `${Internal ? 'I' : ''}${External ? 'E' : ''}`].filter(Boolean).join(' ')
}
