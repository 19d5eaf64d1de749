/** Hooks at the sockets of this node, beside the table of the nftables mode: whatever hooks leave alone goes there. */
import { ebpfAbilities } from '../../backends/ebpf/abilities.ts'
import { randomBytes } from 'node:crypto'
import { EbpfBackend } from '../../backends/ebpf/ebpf-backend.ts'
import { socketPieces } from '../../backends/ebpf/pieces.ts'
import { planRoutes } from '../../backends/ebpf/plan.ts'
import { renderSockets } from '../../backends/ebpf/render.ts'
import { currentNode, rememberNode } from '../../backends/ebpf/settings.ts'
import type { NodeState } from '../../backends/ebpf/settings.ts'
import { SocketBalancer } from '../../backends/ebpf/socket-balancer.ts'
import { TakenOverError } from '../../backends/ebpf/tables-owner.ts'
import { ebpfTraits } from '../../backends/ebpf/traits.ts'
import type { ServedSockets } from '../../backends/ebpf/traits.ts'
import { nftablesTraits } from '../../backends/nftables/traits.ts'
import type { EbpfOptions } from '../../config/daemon/ebpf-flags.ts'
import type { Backend } from '../../core/backend.ts'
import type { StartConfig } from '../../config/live/how-fields-change.ts'
import { lend } from '../../core/lend.ts'
import { BpfError } from '../../dataplane/ebpf/bpf-error.ts'
import type { Family } from '../../net/ip.ts'
import { addEbpfMetrics } from '../../observe/metrics/ebpf-metrics.ts'
import type { EbpfMetrics } from '../../observe/metrics/ebpf-metrics.ts'
import { familyLabel } from '../../observe/metrics/family-label.ts'
import { CommandError } from '../program.ts'
import { examineGround } from './ebpf/examine-ground.ts'
import type { Ground } from './ebpf/examine-ground.ts'
import { ofPacketsAlone } from './ebpf/open-connections.ts'
import { disposeAll } from './dispose-all.ts'
import { endingWith } from './ending-with.ts'
import type { Mode, ModeContext, ModeOnNode, ModeSettings } from './mode.ts'
import { nftablesInWords, nftablesOnNode } from './nftables-mode.ts'
import { overBackend } from './over-backend.ts'

const packetsInWords = nftablesInWords(({ ebpf }) => ebpf.untrackedPods)

export const ebpfMode: Mode = {
  name: 'ebpf',
  carriesTraffic: false,
  endpointRules: 'usual',
  abilities: ebpfAbilities,
  traits: (config, options) => ebpfTraits(nftablesTraits, waysOf(config, options)),
  onNode,

  render(view, settings) {
    const routes = planRoutes(view, view.routesByKey.keys(), nodeNow(view.family, settings))
    const planned = [...routes.values()].filter((route) => route !== undefined)
    return [...packetsInWords.render(view, settings), { part: 'sockets', text: renderSockets(planned) }]
  },

  pieces(view, settings, key) {
    const route = planRoutes(view, [key], nodeNow(view.family, settings)).get(key)
    return [...(route === undefined ? [] : socketPieces(route)), ...packetsInWords.pieces(view, settings, key)]
  },
}

/** On a node that has everything. */
function waysOf(config: StartConfig, { scope, udp, untrackedPods, localhostNodePorts }: EbpfOptions): ServedSockets {
  return {
    clients: scope === 'host' ? 'this node' : 'this node and its pods',
    protocols: udp === 'off' ? ['TCP'] : ['TCP', 'UDP'],
    connectedUdp: udp === 'auto' ? 'this node and its pods' : 'nobody',
    untrackedPods,
    onLoopback: localhostNodePorts && mayServeLocalhost(config),
  }
}

function waysOn({ settings: { loopbackNodePorts, udpConnect } }: Ground): Partial<ServedSockets> {
  return { onLoopback: loopbackNodePorts, connectedUdp: whoseUdp[udpConnect] }
}

const whoseUdp = { all: 'this node and its pods', host: 'this node', none: 'nobody' } as const

/** What is said for every mode holds for this one too. */
function mayServeLocalhost({ fairlead }: StartConfig): boolean {
  return fairlead.localhostNodePorts !== false
}

function nodeNow(family: Family, { nodePortAddresses, localIps }: ModeSettings): NodeState {
  return currentNode({ family, nodePortAddresses, localIps })
}

function onNode(context: ModeContext): ModeOnNode {
  const { config, ebpf, settingsOf, host, registry, log } = context
  const options = { ...ebpf, localhostNodePorts: ebpf.localhostNodePorts && mayServeLocalhost(config) }
  let hasFallenBack = false
  const packets = nftablesOnNode(context, () => (hasFallenBack ? [] : options.untrackedPods))
  /** Undefined: it cannot be used, and the nftables mode runs alone. */
  let examined: Promise<Ground | undefined> | undefined
  /** As far as the kernel can, and this process may. */
  let ways = waysOf(config, options)
  const examineOnce = (signal: AbortSignal) => (examined ??= examine({ ...context, ebpf: options }, signal))
  const served = new Set<Family>()
  const backends = new Map<Family, EbpfBackend>()
  let balancing: SocketBalancer | undefined
  const metrics = addEbpfMetrics(registry, {
    choices: () => [...backends].flatMap(([family, { choices }]) => (choices ? [[family, choices] as const] : [])),
    usage: () => balancing?.usage,
  })
  const borrow = lend(async (ground: Ground) => (balancing = openBalancer(ground, [...served], context, metrics)))

  return {
    ...packets,
    get name() {
      return hasFallenBack ? packets.name : 'ebpf'
    },
    get traits() {
      if (hasFallenBack) return packets.traits
      const now = balancing && { connectedUdp: whoseUdp[balancing.udpConnect] }
      return ebpfTraits(packets.traits, { ...ways, ...now })
    },

    async supports(family, signal) {
      const isSupported = await packets.supports(family, signal)
      if (isSupported) {
        served.add(family)
        const ground = await examineOnce(signal)
        hasFallenBack = ground === undefined
        if (ground !== undefined) ways = { ...ways, ...waysOn(ground) }
      }
      return isSupported
    },

    async createBackend(family, signal) {
      const opened = await packets.createBackend(family, signal)
      const parts: AsyncDisposable[] = [opened.backend]
      try {
        const ground = await examineOnce(signal)
        if (ground === undefined) return opened
        const balancer = await borrow(ground)
        parts.push(balancer)
        await balancer.it.prepare()
        const remembered = rememberNode()
        const node = () => remembered({ family, ...settingsOf(family) })
        const { backend } = opened
        const sockets = new EbpfBackend({
          family,
          balancer: balancer.it,
          packets: backend,
          node,
          clock: host.clock,
          log,
          onSocketsSynced: (tookMs) => metrics.syncDurations.observe(familyLabel(family), tookMs / 1000),
        })
        backends.set(family, sockets)
        return {
          ...opened,
          backend: endingWith(endingInWords(sockets), balancer),
          ...(opened.openConnections && { openConnections: ofPacketsAlone(opened.openConnections, sockets) }),
        }
      } catch (error) {
        // Why it cannot be made says more than what goes wrong on the way out.
        await disposeAll(parts).catch(() => undefined)
        throw error
      }
    },
  }
}

/** Whoever has taken over is named in a sentence: there is nothing to be found in a stack. */
function endingInWords(sockets: EbpfBackend): Backend {
  return overBackend(sockets, {
    watch: (onDrift, signal) =>
      sockets.watch(onDrift, signal).catch((error: unknown) => {
        throw error instanceof TakenOverError ? new CommandError(error.message, { cause: error }) : error
      }),
  })
}

async function examine(
  { host, settings, ebpf: options, log }: ModeContext,
  signal: AbortSignal,
): Promise<Ground | undefined> {
  try {
    const ground = await examineGround(host, options, signal)
    log.info('the sockets of this node are connected to endpoints', { cgroup: ground.cgroup, pins: options.pins })
    for (const sentence of ground.left) log.info('not all is done at the sockets', { because: sentence })
    if (options.untrackedPods.length > 0)
      log.info('connections between pods are not tracked: rules that go by connection state do not see them', {
        ranges: options.untrackedPods.join(', '),
      })
    if (settings().config.masqueradeAll)
      log.info('masqueradeAll concerns only what nftables translates: sockets keep the address of their client')
    return ground
  } catch (error) {
    if (!(error instanceof BpfError) && !(error instanceof CommandError)) throw error
    const reason = `the ebpf mode cannot run here: ${error.message}`
    if (options.fallback === 'none') throw new CommandError(reason, { cause: error })
    log.warn('running the nftables mode instead of the ebpf mode, as --ebpf-fallback allows', { reason })
    return undefined
  }
}

function openBalancer(
  { bpf, cgroup, programs, iterator, sockets, digest, settings }: Ground,
  families: readonly Family[],
  { ebpf: { pins }, host, log }: ModeContext,
  { destroyedSockets }: EbpfMetrics,
): SocketBalancer {
  return new SocketBalancer({
    bpf,
    families,
    pins,
    cgroup,
    programs,
    digest,
    settings,
    stale: iterator && {
      iterator,
      sockets,
      onDestroyed: (protocol, count) => destroyedSockets.increment({ protocol }, count),
    },
    owner: randomBytes(8).readBigUInt64LE(),
    kernelNow: () => host.process.monotonicNs(),
    clock: host.clock,
    log,
  })
}
