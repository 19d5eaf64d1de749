/** Every behaviour that differs, in the order in which people read it. */
import { inEveryMode } from './behaviours/in-every-mode.ts'
import { otherMode } from './behaviours/other-mode.ts'
import { sameMode } from './behaviours/same-mode.ts'
import { aboutUserspace } from './behaviours/userspace.ts'
import { onWindows } from './behaviours/windows.ts'
import type { Behaviour } from './difference.ts'

export interface Section {
  readonly heading: string
  readonly rows: readonly Behaviour[]
}

export const sections: readonly Section[] = [
  { heading: 'In every mode', rows: [...inEveryMode.everywhere, ...inEveryMode.onLinux] },
  { heading: 'The iptables mode', rows: sameMode.iptables },
  { heading: 'The nftables mode', rows: sameMode.nftables },
  { heading: 'The ipvs mode', rows: sameMode.ipvs },
  { heading: "The userspace mode, and kube-proxy's until 1.25", rows: aboutUserspace.oldUserspace },
  { heading: 'The kernelspace mode of Windows', rows: onWindows.kernelspace },
  {
    heading: 'Another mode: node ports, firewalls, leftovers',
    rows: [...otherMode.nodePorts, ...otherMode.firewalls, ...otherMode.leftovers],
  },
  { heading: 'Another mode: from and to ipvs', rows: [...otherMode.fromIpvs, ...otherMode.toIpvs] },
  { heading: 'Another mode: client-IP affinity', rows: otherMode.affinity },
  { heading: 'Another mode: to ebpf', rows: otherMode.toEbpf },
  { heading: 'Another mode: to userspace', rows: [...aboutUserspace.toUserspace, ...onWindows.userspaceOnWindows] },
  { heading: 'Another mode: from userspace', rows: aboutUserspace.fromUserspace },
  { heading: 'Cleaning up', rows: inEveryMode.cleanup },
]

export const allBehaviours: readonly Behaviour[] = sections.flatMap(({ rows }) => rows)
