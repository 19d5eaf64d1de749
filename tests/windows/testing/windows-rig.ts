import { TemporaryFolder } from '../../../src/sources/kube/testing/temporary-folder.ts'
import { manifest } from '../../e2e/testing/objects.ts'
import type { KubernetesObject } from '../../e2e/testing/objects.ts'
import { WindowsDaemon } from './windows-daemon.ts'
import { windowsPath } from './wine.ts'

/** What Wine lacks of a node. */
interface StandIn extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>
}

/** A node: a stand-in for what Wine lacks, manifests, and a folder for the state of the daemon. */
export class WindowsRig<S extends StandIn> implements AsyncDisposable {
  readonly standIn: S
  readonly #mode: string
  readonly #objects: TemporaryFolder
  readonly #state: TemporaryFolder

  private constructor(mode: string, standIn: S, objects: TemporaryFolder, state: TemporaryFolder) {
    this.#mode = mode
    this.standIn = standIn
    this.#objects = objects
    this.#state = state
  }

  static async make<S extends StandIn>(mode: string, standIn: S): Promise<WindowsRig<S>> {
    return new WindowsRig(mode, standIn, await TemporaryFolder.make(), await TemporaryFolder.make())
  }

  /** What every command on this node is given. */
  get place(): readonly string[] {
    return [`--proxy-mode=${this.#mode}`, `--state-dir=${windowsPath(this.#state.path)}`]
  }

  start(...args: readonly string[]): Promise<WindowsDaemon> {
    const objects = `--objects=${windowsPath(this.#objects.path)}`
    return WindowsDaemon.start({
      args: [...this.place, objects, ...args, '--iptables-min-sync-period=0s'],
      env: this.standIn.env,
    })
  }

  /** Without objects: the file is empty. */
  async write(name: string, ...objects: readonly KubernetesObject[]): Promise<void> {
    await this.#objects.write(`${name}.yaml`, objects.length === 0 ? '' : manifest(...objects))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const part of [this.standIn, this.#objects, this.#state]) await part[Symbol.asyncDispose]()
  }
}
