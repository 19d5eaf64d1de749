import { u32 } from '../../../../src/dataplane/netlink/attribute.ts'
import { openNetlink } from '../../../../src/dataplane/netlink/open-netlink.ts'
import { enterEmptyNamespace } from '../../../../src/dataplane/netlink/testing/network-namespace.ts'

/** As `enterFreshNamespace`, without a process: to start one takes the guest half a second. */
export async function freshNamespace(): Promise<void> {
  enterEmptyNamespace()
  await using socket = await openNetlink('route')
  const [newLink, loopbackIndex, up] = [16, 1, 1]
  const body = Buffer.concat([u32(0), u32(loopbackIndex), u32(up), u32(up)])
  await socket.request({ doing: 'set the loopback link up', type: newLink, body }, new AbortController().signal)
}
