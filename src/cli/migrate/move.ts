/** How a node gets from kube-proxy to Fairlead and back, for each pair of modes, and which connections are lost on the way. */
import { programsNftables, type ProxyMode } from '../../config/proxy-config.ts'

export interface Move {
  /** What becomes of connections on the way to Fairlead. */
  readonly lost: string
  readonly steps: readonly string[]
  /** The same for the way back. */
  readonly lostOnTheWayBack: string
  readonly back: readonly string[]
}

const nothing = 'No connection fails, neither a new one nor an open one.'
const leavesIpvs =
  'New connections: none. Open ones break when Fairlead removes the virtual servers: drain the node first.'
const notTested = 'This pair is not tested under load.'
const ourTables = 'fairlead --cleanup --only-own-tables'

export function moveBetween(from: ProxyMode, to: ProxyMode): Move {
  if (from === 'kernelspace') return onWindows(to)
  return { ...wayThere(from, to), ...wayBack(from, to) }
}

function wayThere(from: ProxyMode, to: ProxyMode): Pick<Move, 'lost' | 'steps'> {
  return {
    lost: lostOnTheWay(from, to),
    steps: [
      `On the node: fairlead doctor --before-start --proxy-mode=${to}`,
      'Stop kube-proxy on the node. Its rules stay and go on working.',
      `Start Fairlead in ${to} mode. Once its rules are complete, it removes what kube-proxy left.`,
      'On the node: fairlead doctor',
    ],
  }
}

function lostOnTheWay(from: ProxyMode, to: ProxyMode): string {
  if (from === 'userspace')
    return 'Connections that kube-proxy relays are cut when it stops; new ones wait for Fairlead.'
  if (from === 'ipvs' && to !== 'ipvs') return to === 'iptables' ? leavesIpvs : `${leavesIpvs} ${notTested}`
  return from === 'nftables' && to === 'ipvs' ? `None is expected to fail. ${notTested}` : nothing
}

function wayBack(from: ProxyMode, to: ProxyMode): Pick<Move, 'lostOnTheWayBack' | 'back'> {
  if (from === 'userspace')
    return {
      lostOnTheWayBack: 'Everything that runs through the node, until the other proxy has synced.',
      back: [
        'kube-proxy from 1.26 on has no userspace mode: go back to another mode of kube-proxy, or keep its old version.',
        'Stop Fairlead, run fairlead --cleanup, and start kube-proxy.',
      ],
    }
  if (to === 'userspace')
    return {
      lostOnTheWayBack: 'Relayed connections that are still open are cut. New ones: none.',
      back: [
        'Start kube-proxy on the node while Fairlead still runs, and wait until it has synced.',
        'Stop Fairlead: it takes its rules with it, and kube-proxy serves.',
      ],
    }
  const stop = 'Stop Fairlead on the node. Its rules stay and go on working.'
  const start = 'Start kube-proxy, and wait until it has synced: curl localhost:10256/healthz'
  if (programsNftables(to))
    return {
      lostOnTheWayBack: from === 'ipvs' ? `None is expected to fail. ${notTested}` : nothing,
      back: [stop, start, `Remove what kube-proxy does not know: ${ourTables}`],
    }
  if (from === to) return { lostOnTheWayBack: nothing, back: [stop, start] }
  return {
    lostOnTheWayBack: lostByTheModeOfKubeProxy(from, to),
    back: [
      `First switch Fairlead to ${from} mode, and wait until it has synced: it removes what its ${to} mode left, which kube-proxy would remove too early or not at all.`,
      stop,
      start,
      ...(from === 'nftables' ? [`Remove what kube-proxy does not know: ${ourTables}`] : []),
    ],
  }
}

/** Fairlead takes the mode of kube-proxy first. */
function lostByTheModeOfKubeProxy(from: ProxyMode, to: ProxyMode): string {
  if (to === 'ipvs') return from === 'iptables' ? leavesIpvs : `${leavesIpvs} ${notTested}`
  if (from === 'ipvs') return nothing
  return `${nothing} Straight back, all new connections fail for a moment: kube-proxy removes the rules of the iptables mode before it has its own.`
}

function onWindows(to: ProxyMode): Move {
  const isRelay = to === 'userspace'
  return {
    lost: isRelay
      ? 'Connections break while the addresses move to the relay.'
      : 'Load balancers that are right are taken over: connections go on.',
    steps: ['.\\fairlead.ps1 Install -ReplaceKubeProxy (docs/windows.md has its other options)', 'fairlead doctor'],
    lostOnTheWayBack: 'kube-proxy deletes all load balancers at its start: connections break until it has synced.',
    back: ['.\\fairlead.ps1 Remove -RestoreKubeProxy'],
  }
}
