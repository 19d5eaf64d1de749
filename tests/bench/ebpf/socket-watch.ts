/** Tells when the tables of the sockets have changed: what a client on the node gets from that moment on. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeFrontendTarget, encodeFrontendKey, layout, layoutVersion } from '../../../src/backends/ebpf/layout.ts'
import type { BpfMap } from '../../../src/dataplane/ebpf/bpf.ts'
import { openBpf } from '../../../src/dataplane/ebpf/open-bpf.ts'
import { serviceAddress } from '../core/cluster-objects.ts'
import { sharedClockMs } from '../core/shared-clock.ts'

const patienceMs = 600_000
/** The kernel makes about a tenth of a millisecond of it. Whoever asked all the time would take a processor for it. */
const pauseMs = 0.05

export class SocketWatch implements Disposable {
  readonly #frontends: BpfMap
  readonly #services: BpfMap

  private constructor(frontends: BpfMap, services: BpfMap) {
    this.#frontends = frontends
    this.#services = services
  }

  /** When the programs were attached, on the shared clock: the last step of a first sync. The tables are full then. */
  static async attachedAt(pins: string): Promise<number> {
    const last = join(pins, `${layoutVersion}`, 'links', 'connect6')
    const deadline = sharedClockMs() + patienceMs
    while (!existsSync(last)) {
      if (sharedClockMs() > deadline) throw new Error('the programs were never attached')
      await sleep(2)
    }
    return sharedClockMs()
  }

  static async open(pins: string): Promise<SocketWatch> {
    const bpf = await openBpf()
    const openMap = async (name: string) => {
      const map = await bpf.openMap(join(pins, `${layoutVersion}`, 'maps', name))
      if (map === undefined) throw new Error(`there is no map ${name}`)
      return map
    }
    return new SocketWatch(await openMap('frontends'), await openMap('services'))
  }

  /** When other endpoints serve the cluster IP of a Service, once `change` has begun to change them. It blocks meanwhile. */
  async changedAt<T>(index: number, change: () => T): Promise<readonly [atMs: number, begun: T]> {
    const key = encodeFrontendKey({ scope: 'address', ip: serviceAddress(index), port: 80, protocol: 'TCP' })
    const [value] = await this.#frontends.lookup([key])
    const target = value && decodeFrontendTarget(value, key)
    if (target === undefined) throw new Error(`the tables do not know Service ${index}`)
    const { buffer, byteOffset } = this.#services.bytes
    const word = new BigUint64Array(buffer, byteOffset + target.service * layout.service.size, 1)
    const before = word[0]
    const begun = change()
    const deadline = sharedClockMs() + patienceMs
    while (word[0] === before) {
      if (sharedClockMs() > deadline) throw new Error('the tables did not change')
      Atomics.wait(nobody, 0, 0, pauseMs)
    }
    return [sharedClockMs(), begun]
  }

  [Symbol.dispose](): void {
    this.#frontends[Symbol.dispose]()
    this.#services[Symbol.dispose]()
  }
}

const nobody = new Int32Array(new SharedArrayBuffer(4))
