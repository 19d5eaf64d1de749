/** The same node and pods with the table of kube-proxy in its nftables mode. Its objects have no UDP. */
import { ProxyDaemon } from '../daemon/proxy-daemon.ts'
import type { ProxyProgram } from '../daemon/proxy-program.ts'
import { NodeAndPods } from './node-and-pods.ts'
import type { Measured } from './node-and-pods.ts'
import { service } from './places.ts'
import type { Request } from './traffic-site.ts'

export class KubeProxySite implements AsyncDisposable {
  readonly #place: NodeAndPods

  private constructor(place: NodeAndPods) {
    this.#place = place
  }

  /** kube-proxy ends once its table is there: what it does besides must not disturb others. */
  static async open(program: ProxyProgram, services: number): Promise<KubeProxySite> {
    const place = await NodeAndPods.open()
    try {
      await using daemon = await ProxyDaemon.start({ program, mode: 'nftables', services, namespace: place.node })
      await daemon.when(({ full }) => full.count > 0)
      place.forgetClosedSoon()
      return new KubeProxySite(place)
    } catch (error) {
      await place[Symbol.asyncDispose]()
      throw error
    }
  }

  measure({ from, kind }: Request, milliseconds: number): Promise<Measured> {
    return this.#place.ask({ from, kind, milliseconds }, service)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#place[Symbol.asyncDispose]()
  }
}
