/** Fairlead as two processes on a node: a core that watches the API server, and a backend that follows the core. */
import { fileURLToPath } from 'node:url'
import { families } from '../../../src/net/ip.ts'
import { TemporaryFolder } from '../../../src/sources/kube/testing/temporary-folder.ts'
import { ApiObjects } from '../../packet/testing/api-objects.ts'
import type { Cluster } from '../../packet/testing/cluster.ts'
import { EbpfPlace, fairleadEbpf } from '../../packet/testing/fairlead-ebpf.ts'
import { chooseVariant, missingPrograms } from '../../packet/testing/iptables-variant.ts'
import type { IptablesVariant } from '../../packet/testing/iptables-variant.ts'
import { NodeProcess } from '../../packet/testing/node-process.ts'
import { proxyFlags } from '../../packet/testing/proxy-flags.ts'
import type { Proxy, ProxyMode, ProxySettings, RunningProxy } from '../../packet/testing/proxy.ts'
import { nodeName } from '../../packet/testing/service-fixture.ts'
import type { KubernetesObject } from '../../packet/testing/service-fixture.ts'
import { plans } from '../../packet/testing/address-plan.ts'

export const splitNftables: Proxy = {
  name: 'nftables behind a KPNG core',
  mode: 'nftables',
  cannot: {},
  missing: () => missingPrograms('nft'),
  start: (cluster, settings) => SplitProxy.start(cluster, 'nftables', settings),
}

export function splitOnIptables(mode: 'iptables' | 'userspace', variant: IptablesVariant): Proxy {
  return {
    name: `${mode} (${variant}) behind a KPNG core`,
    mode,
    cannot: { 'pod CIDRs of the Node': "KPNG's protocol does not have them" },
    missing: () => missingPrograms(`iptables-${variant}`, `ip6tables-${variant}`),
    start(cluster, settings) {
      chooseVariant(cluster.node, variant)
      return SplitProxy.start(cluster, mode, settings)
    },
  }
}

export const splitEbpf: Proxy = {
  ...fairleadEbpf,
  name: 'ebpf behind a KPNG core',
  start(cluster, settings) {
    const place = new EbpfPlace()
    cluster.useCgroup(place.cgroup)
    return SplitProxy.start(cluster, 'ebpf', settings, place)
  },
}

export class SplitProxy implements RunningProxy {
  readonly #cluster: Cluster
  readonly mode: ProxyMode
  readonly #settings: ProxySettings
  readonly #objects: ApiObjects
  readonly #folder: TemporaryFolder
  readonly #place: EbpfPlace | undefined
  #core: NodeProcess
  #backend: NodeProcess | undefined

  private constructor(
    cluster: Cluster,
    mode: ProxyMode,
    settings: ProxySettings,
    objects: ApiObjects,
    folder: TemporaryFolder,
    place?: EbpfPlace,
  ) {
    this.#cluster = cluster
    this.mode = mode
    this.#settings = settings
    this.#objects = objects
    this.#folder = folder
    this.#place = place
    this.#core = this.#newCore()
  }

  static async start(
    cluster: Cluster,
    mode: ProxyMode,
    settings: ProxySettings,
    place?: EbpfPlace,
  ): Promise<SplitProxy> {
    const objects = await ApiObjects.start(cluster.node)
    return new SplitProxy(cluster, mode, settings, objects, await TemporaryFolder.make(), place)
  }

  async apply(objects: readonly KubernetesObject[]): Promise<void> {
    await this.#objects.apply(objects)
    if (this.#backend === undefined) this.run()
  }

  /** The backend; the core is another process. */
  run(): void {
    const flags = proxyFlags(this.mode, this.#settings).filter((flag) => !flag.startsWith('--proxy-mode'))
    const addresses = [plans.ipv4.nodeIP, plans.ipv6.nodeIP].join(',')
    this.#backend = this.#fairlead([
      'api',
      `to-${this.mode}`,
      `--api=${this.#socket}`,
      `--node-name=${nodeName}`,
      ...flags,
      ...(this.#place?.flags ?? []),
      `--node-address=${addresses}`,
      `--service-cidrs=${families.map((family) => plans[family].serviceRange).join(',')}`,
    ])
  }

  /** Ends the backend; its rules stay. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    await this.#backend?.stop(signal)
  }

  runCore(): void {
    this.#core = this.#newCore()
  }

  async stopCore(signal: NodeJS.Signals): Promise<void> {
    await this.#core.stop(signal)
  }

  log(): string {
    return `core:\n${this.#core.output}\nbackend:\n${this.#backend?.output ?? 'was not started'}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop('SIGKILL')
    await this.stopCore('SIGKILL')
    await this.#objects[Symbol.asyncDispose]()
    await this.#folder[Symbol.asyncDispose]()
    await this.#place?.[Symbol.asyncDispose]()
  }

  get #socket(): string {
    return `unix://${this.#folder.path}/core.sock`
  }

  #newCore(): NodeProcess {
    const annotations = '--with-service-annotations=fairlead.dev/*'
    return this.#fairlead(['kube', 'to-api', `--api=${this.#socket}`, `--server=${this.#objects.url}`, annotations])
  }

  #fairlead(args: readonly string[]): NodeProcess {
    return new NodeProcess(this.#cluster.node, process.execPath, [program, ...args, '-v=2'])
  }
}

const program = fileURLToPath(new URL('../../../bin/fairlead.js', import.meta.url))
