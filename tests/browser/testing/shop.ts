/** A small application in a cluster of its own, with a daemon that serves it and its console. */
import { startHttpBackend } from '../../../src/cli/demo/sample-backends.ts'
import { freePorts } from '../../cluster/testing/free-ports.ts'
import { Cluster } from '../../e2e/testing/cluster.ts'
import { nodeName } from '../../e2e/testing/daemon-process.ts'
import { node, service, slice } from '../../e2e/testing/objects.ts'
import { ConsoleDaemon } from './console-daemon.ts'

export class Shop implements AsyncDisposable {
  readonly cluster: Cluster
  readonly daemon: ConsoleDaemon
  /** Of Service `default/web`, which is answered. */
  readonly webPort: number
  readonly #parts: readonly AsyncDisposable[]

  private constructor(cluster: Cluster, daemon: ConsoleDaemon, webPort: number, parts: readonly AsyncDisposable[]) {
    this.cluster = cluster
    this.daemon = daemon
    this.webPort = webPort
    this.#parts = parts
  }

  static async open(...flags: readonly string[]): Promise<Shop> {
    const backend = await startHttpBackend('web-1')
    const ports = await freePorts('web', 'empty', 'front')
    const cluster = await Cluster.start(
      node(nodeName),
      service('web', ports.web, { sessionAffinity: 'ClientIP' }),
      slice('web', backend.port, { nodeName, zone: 'zone-a' }),
      service('empty', ports.empty),
      service('front', ports.front, { type: 'LoadBalancer', externalTrafficPolicy: 'Local' }),
      slice('front', backend.port, { nodeName: 'node2', zone: 'zone-b' }),
    )
    const parts = [backend, cluster]
    try {
      const daemon = await ConsoleDaemon.start(`--kubeconfig=${cluster.kubeconfig}`, ...flags)
      return new Shop(cluster, daemon, ports.web, [daemon, ...parts])
    } catch (error) {
      for (const part of parts) await part[Symbol.asyncDispose]()
      throw error
    }
  }

  get url(): string {
    return this.daemon.url
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const part of this.#parts) await part[Symbol.asyncDispose]()
  }
}
