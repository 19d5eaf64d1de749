import type { Datagrams } from '../../netlink/datagrams.ts'
import { decodeMessages } from '../../netlink/message.ts'
import type { NetlinkMessage } from '../../netlink/message.ts'

/** All that the kernel has to say. It answers while it takes a request, so nobody has to wait. */
export async function receiveAnswers(datagrams: Datagrams): Promise<NetlinkMessage[]> {
  const messages: NetlinkMessage[] = []
  for (let datagram = await datagrams.receive(); datagram !== undefined; datagram = await datagrams.receive())
    for (const message of decodeMessages(datagram) ?? []) messages.push(message)
  return messages
}
