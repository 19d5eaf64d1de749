/**
 * What `fairlead explain` says about a flow, in the words of an observation. It is asked as a daemon with the same flags
 * and objects would be, on a node with the same addresses; so a wrong explanation is a failed test.
 */
import { parseObject } from '../../../src/api/parse.ts'
import { objectKinds } from '../../../src/api/records.ts'
import type { ObjectKind, ObjectRecord } from '../../../src/api/records.ts'
import { explainWorld } from '../../../src/cli/explain/explain-world.ts'
import { loadConfig } from '../../../src/cli/daemon/load-config.ts'
import { thisHost } from '../../../src/cli/host/this-host.ts'
import { findMode } from '../../../src/cli/modes/find-mode.ts'
import { objectsOnNode } from '../../../src/cli/offline/objects-on-node.ts'
import { parseDaemonCommandLine } from '../../../src/config/daemon/parse-daemon-command-line.ts'
import { Catalog } from '../../../src/core/catalog.ts'
import { explain } from '../../../src/core/explain/explain.ts'
import type { AskedProtocol, Explanation } from '../../../src/core/explain/explanation.ts'
import type { World } from '../../../src/core/explain/world.ts'
import { silentNotices } from '../../../src/core/routing/service-notices.ts'
import { families, hostPort } from '../../../src/net/ip.ts'
import type { Family } from '../../../src/net/ip.ts'
import { plans } from './address-plan.ts'
import { proxyFlags } from './proxy-flags.ts'
import type { ProxyMode, ProxySettings } from './proxy.ts'
import { addressOf, sourceAddress } from './rig.ts'
import { isOnNode } from './row.ts'
import type { Source, Target } from './row.ts'
import { clusterObjects, nodeName, objectsOf } from './service-fixture.ts'
import type { KubernetesObject, ServiceFixture } from './service-fixture.ts'

export interface ExplainedCluster {
  readonly mode: ProxyMode
  readonly settings: ProxySettings
  readonly services: readonly ServiceFixture[]
}

export interface AskedPlace {
  readonly ip: string
  readonly port: number
  readonly protocol: AskedProtocol
}

export class Explained {
  readonly #world: World

  private constructor(world: World) {
    this.#world = world
  }

  static async of({ mode: modeName, settings, services }: ExplainedCluster): Promise<Explained> {
    const parsed = parseDaemonCommandLine(proxyFlags(modeName, settings), 'linux')
    if (parsed.kind !== 'run') throw new Error(`the flags of the test are refused: ${JSON.stringify(parsed)}`)
    const { config } = await loadConfig(parsed.options, thisHost())
    const mode = await findMode(config.mode, 'linux')
    const { ebpf } = parsed.options
    const request = { mode, config, nodeName, nodeAddresses: [], hnsNetworkType: 'auto', ebpf } as const
    const node = objectsOnNode(catalogOf([...clusterObjects, ...services.flatMap(objectsOf)]), request, silentNotices)
    return new Explained(
      explainWorld({
        catalog: node.catalog,
        traits: () => mode.traits(config, ebpf),
        settings: { ...node.settings, localIps: () => addressesOfNode(services) },
        tables: families.map((family) => ({ family, table: node.routes(family) })),
      }),
    )
  }

  explain(from: Source, to: Target, family: Family): Explanation {
    const { ip, port } = addressOf(to, family)
    const { protocol } = to.port
    return this.explainAt(sourceAddress(from, to, family), { ip, port: protocol === 'ICMP' ? 0 : port, protocol })
  }

  explainAt(source: string, place: AskedPlace): Explanation {
    const target = { kind: 'address', ...place } as const
    const answer = explain({ target, from: { kind: 'ip', ip: source } }, this.#world)
    if (!answer.ok) throw new Error(`explain: ${answer.message}`)
    const [explanation] = answer.explanations
    if (explanation === undefined || answer.explanations.length > 1)
      throw new Error('an address must have one explanation')
    return explanation
  }

  /** By `here-1:8080`, of all new connections together 1. */
  shares(from: Source, to: Target, family: Family): ReadonlyMap<string, number> {
    const { answerers } = this.explain(from, to, family)
    return new Map(
      answerers.map(({ address, share }) => {
        if (share === undefined) throw new Error(`explain does not say which share ${address} gets`)
        return [nameOf(address, family), share.part / share.of]
      }),
    )
  }

  /** What a client would see, as `observe` says it. `isListened`: somebody listens where an untouched packet ends. */
  words(from: Source, to: Target, family: Family, isListened: boolean): ReadonlySet<string> {
    const { verdict, clientSees, answerers } = this.explain(from, to, family)
    switch (verdict.kind) {
      case 'forward':
        return new Set(answerers.map(({ address, sourceSeen }) => `${nameOf(address, family)} sees the ${sourceSeen}`))
      case 'untouched':
        if (isOnNode(to)) return new Set([isListened ? 'answered by the node' : 'refused'])
        return new Set(['answered by beyond'])
      case 'reject':
      case 'drop':
        return new Set([clientWords[clientSees] ?? `explained as "${clientSees}"`])
      default:
        return verdict satisfies never
    }
  }
}

const clientWords: Readonly<Partial<Record<Explanation['clientSees'], string>>> = {
  'refused at once': 'refused',
  timeout: 'silence',
}

/** `here-1:8080` */
function nameOf(address: string, family: Family): string {
  for (const [pod, ip] of Object.entries(plans[family].hosts)) {
    const prefix = hostPort(ip, 0).slice(0, -1)
    if (address.startsWith(prefix)) return `${pod}:${address.slice(prefix.length)}`
  }
  return address
}

/** As the cluster has them, the second VIPs included that `prepareNode` adds. */
function addressesOfNode(services: readonly ServiceFixture[]): readonly string[] {
  const twice = services.filter(({ vips }) => vips === 'two')
  return families.flatMap((family) => {
    const plan = plans[family]
    const secondVips = twice.map(({ index }) => plan.secondVip(index))
    return [plan.loopback, plan.nodeIP, plan.secondNodeIP, plan.idleNodeIP, ...secondVips]
  })
}

function catalogOf(objects: readonly KubernetesObject[]): Catalog {
  const catalog = new Catalog()
  for (const kind of objectKinds)
    catalog.replace(
      kind,
      objects.filter((object) => object.kind === kind).map((object) => recordOf(kind, object)),
    )
  return catalog
}

function recordOf(kind: ObjectKind, object: KubernetesObject): ObjectRecord {
  const parsed = parseObject(kind, object)
  if (!parsed.ok) throw new Error(`an object of the test is not good: ${JSON.stringify(parsed.problems)}`)
  return parsed.record
}
