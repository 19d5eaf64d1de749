import type { Flow, FlowDirection } from '../../core/sync/stale-flows.ts'
import { hostPort } from '../../net/ip.ts'

/** Equal for equal flows: the protocol and both directions. */
export function flowKey({ protocol, original, reply }: Flow): string {
  return `${protocol} ${directionKey(original)} ${directionKey(reply)}`
}

function directionKey({ sourceIp, sourcePort, destinationIp, destinationPort }: FlowDirection): string {
  return `${hostPort(sourceIp, sourcePort)} ${hostPort(destinationIp, destinationPort)}`
}
