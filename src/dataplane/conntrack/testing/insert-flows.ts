/** Puts flows into the kernel's table without sending packets, many at a time. */
import type { Flow } from '../../../core/sync/stale-flows.ts'
import { familyOf } from '../../../net/ip.ts'
import { attribute, be32, nested, u8 } from '../../netlink/attribute.ts'
import { messageFlag } from '../../netlink/message.ts'
import type { NetlinkRequest } from '../../netlink/netlink.ts'
import { netfilterBody, netfilterType } from '../../netlink/nfnetlink.ts'
import { openNetlink } from '../../netlink/open-netlink.ts'
import { encodeTuple } from '../flow-messages.ts'

export async function insertFlows(flows: readonly Flow[]): Promise<void> {
  await using socket = await openNetlink('netfilter')
  for (let at = 0; at < flows.length; at += 500) {
    const errors = await socket.batch(flows.slice(at, at + 500).map(newFlow), new AbortController().signal)
    for (const error of errors.values()) throw error
  }
}

function newFlow({ protocol, original, reply }: Flow): NetlinkRequest {
  const [timeoutSeconds, tcpEstablished] = [600, 3]
  // The kernel refuses a TCP flow without its state.
  const state = protocol === 6 ? [nested(4, nested(1, attribute(1, u8(tcpEstablished))))] : []
  return {
    doing: 'insert a flow',
    type: netfilterType('conntrack', 0),
    flags: messageFlag.create | messageFlag.exclusive,
    body: netfilterBody(
      familyOf(original.sourceIp),
      encodeTuple(1, protocol, original),
      encodeTuple(2, protocol, reply),
      attribute(7, be32(timeoutSeconds)),
      ...state,
    ),
  }
}
