import { describe } from 'vitest'
import { silentLogger } from '../../core/logger.ts'
import { processExec } from '../exec/exec.ts'
import { openNetlink } from '../netlink/open-netlink.ts'
import { missingForNamespace, run } from '../netlink/testing/network-namespace.ts'
import { commandConntrack } from './command-conntrack.ts'
import { conntrackContract } from './conntrack.contract.ts'
import type { Conntrack } from './conntrack.ts'
import { MemoryConntrack } from './memory-conntrack.ts'
import { netlinkConntrack } from './netlink-conntrack.ts'
import { testFlow } from './testing/flows.ts'
import type { FlowAddresses } from './testing/flows.ts'
import { endKernelFlow, enterNamespaceForFlows, insertTcpFlow, openKernelFlow } from './testing/kernel-flows.ts'

conntrackContract('MemoryConntrack', async () => {
  const conntrack = new MemoryConntrack()
  let isCounting = false
  // As many as a datagram with five bytes has.
  const bytes = ({ client }: FlowAddresses) => (client.startsWith('[') ? 53 : 33)
  return {
    conntrack,
    open: async (flow) =>
      conntrack.add({ ...testFlow(flow), ...(isCounting && { bytesIn: bytes(flow), bytesOut: 0 }) }),
    countBytes: () => void (isCounting = true),
    openTcp: async (flow) => conntrack.add(testFlow({ ...flow, protocol: 6 })),
    end: async (flow) => void (await conntrack.delete([testFlow(flow)], new AbortController().signal)),
  }
})

const missing = missingForNamespace('ip', 'iptables', 'ip6tables', 'conntrack')
describe.skipIf(missing !== undefined)(`on the kernel${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  conntrackContract('netlinkConntrack', () => inNamespace(netlinkConntrack({ open: openNetlink, log: silentLogger })))
  conntrackContract('commandConntrack', () => inNamespace(commandConntrack(processExec)))
})

async function inNamespace(conntrack: Conntrack) {
  enterNamespaceForFlows()
  return {
    conntrack,
    open: openKernelFlow,
    countBytes: () => run('sysctl -wq net.netfilter.nf_conntrack_acct=1'),
    openTcp: async (flow: Parameters<typeof insertTcpFlow>[0]) => insertTcpFlow(flow),
    end: async (flow: Parameters<typeof endKernelFlow>[0]) => endKernelFlow(flow),
  }
}
