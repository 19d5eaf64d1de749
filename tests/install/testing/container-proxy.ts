/** Fairlead on a node of the test cluster, in a container from its image. */
import { rename, writeFile } from 'node:fs/promises'
import type { Cluster } from '../../packet/testing/cluster.ts'
import type { EbpfPlace } from '../../packet/testing/fairlead-ebpf.ts'
import type { RunningProxy } from '../../packet/testing/proxy.ts'
import type { KubernetesObject } from '../../packet/testing/service-fixture.ts'
import { TemporaryFolder } from '../../../src/sources/kube/testing/temporary-folder.ts'
import { type Capability, Container } from './container.ts'

export interface Deployment {
  readonly bundle: string
  readonly flags: readonly string[]
  readonly capabilities: readonly Capability[]
  /** For the sockets of the ebpf mode. It goes with the proxy. */
  readonly place?: EbpfPlace
}

interface Ended {
  readonly exitCode: number | null
  readonly output: string
}

/** As a DaemonSet does it: what belongs to the machine is set by a privileged container that ends before the other starts. */
export class ContainerProxy implements RunningProxy {
  readonly #cluster: Cluster
  readonly #deployment: Deployment
  /** What the kubelet mounts from the node. */
  readonly #folder: TemporaryFolder
  #container: Container | undefined
  #doctor: Ended | undefined

  constructor(cluster: Cluster, deployment: Deployment, folder: TemporaryFolder) {
    this.#cluster = cluster
    this.#deployment = deployment
    this.#folder = folder
  }

  static async make(cluster: Cluster, deployment: Deployment): Promise<ContainerProxy> {
    const folder = await TemporaryFolder.make()
    await writeFile(`${folder.path}/xtables.lock`, '')
    return new ContainerProxy(cluster, deployment, folder)
  }

  async apply(objects: readonly KubernetesObject[]): Promise<void> {
    await this.write(objects)
    if (this.#container !== undefined) return
    const init = await this.toItsEnd(['--init-only', '--objects=/objects'], 'all')
    if (init.exitCode !== 0) throw new Error(`fairlead --init-only failed: ${init.output}`)
    this.#doctor = await this.toItsEnd(['doctor', '--before-start', '--objects=/objects'])
    this.#container = await this.#start(['--objects=/objects'], this.#deployment.capabilities)
  }

  /** Only makes these the objects; nothing is started. */
  async write(objects: readonly KubernetesObject[]): Promise<void> {
    const list = { apiVersion: 'v1', kind: 'List', items: objects }
    // As a whole, so that no half of it is read.
    const aside = await this.#folder.write('objects.aside', JSON.stringify(list))
    await rename(aside, `${this.#folder.path}/objects.json`)
  }

  /** Runs another command in such a container, with the flags of the daemon. */
  async toItsEnd(
    words: readonly string[],
    capabilities: readonly Capability[] | 'all' = this.#deployment.capabilities,
  ): Promise<Ended> {
    await using container = await this.#start(words, capabilities)
    const exitCode = await container.ended()
    return { exitCode, output: container.output }
  }

  /** What the doctor said before the start. */
  get doctor(): Ended | undefined {
    return this.#doctor
  }

  get pid(): number {
    return this.#container?.pid ?? 0
  }

  async stop(): Promise<void> {
    await this.#container?.[Symbol.asyncDispose]()
  }

  run(): void {
    throw new Error('a container runs once')
  }

  log(): string {
    return this.#container?.output ?? 'the container was not started'
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
    await this.#folder[Symbol.asyncDispose]()
    await this.#deployment.place?.[Symbol.asyncDispose]()
  }

  #start(words: readonly string[], capabilities: readonly Capability[] | 'all'): Promise<Container> {
    const { bundle, flags, place } = this.#deployment
    const { path } = this.#folder
    return Container.start({
      bundle,
      node: this.#cluster.node,
      args: [...words, ...flags],
      capabilities,
      mounts: { '/objects': path, '/run/xtables.lock': `${path}/xtables.lock`, ...(place && mountsOf(place)) },
    })
  }
}

/** Where the chart mounts those of the node. */
function mountsOf({ cgroup, bpffs }: EbpfPlace): Readonly<Record<string, string>> {
  return { '/sys/fs/cgroup': cgroup.path, '/sys/fs/bpf': bpffs }
}
