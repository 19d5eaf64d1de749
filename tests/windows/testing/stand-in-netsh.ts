/** `netsh` for a daemon under Wine: the stand-in, which keeps the addresses of one interface and a log of calls in a folder. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { TemporaryFolder } from '../../../src/sources/kube/testing/temporary-folder.ts'
import { compile, root } from './set-up.ts'
import { windowsPath } from './wine.ts'

/** Where Services may have loopback addresses, which this machine has already. */
const interfaceName = 'Loopback Pseudo-Interface 1'

export class StandInNetsh implements AsyncDisposable {
  readonly #folder: TemporaryFolder

  private constructor(folder: TemporaryFolder) {
    this.#folder = folder
  }

  static async make(): Promise<StandInNetsh> {
    const folder = await TemporaryFolder.make()
    await compile(join(root, 'tests/windows/stand-in/netsh.c'), join(folder.path, 'netsh.exe'))
    await folder.write('interface', interfaceName)
    return new StandInNetsh(folder)
  }

  /** For the daemon. */
  get env(): Readonly<Record<string, string>> {
    const folder = windowsPath(this.#folder.path)
    return { WINEPATH: folder, FAIRLEAD_NETSH_FOLDER: folder, INTERFACE_TO_ADD_SERVICE_IP: interfaceName }
  }

  /** The addresses of the interface, sorted. */
  async addresses(): Promise<readonly string[]> {
    const names = await readdir(this.#folder.path)
    return names.flatMap((name) => (name.startsWith('has-') ? [name.slice('has-'.length)] : [])).toSorted()
  }

  /** The lines that change something, as somebody would type them. */
  async changes(): Promise<readonly string[]> {
    const log = await readFile(join(this.#folder.path, 'calls.log'), 'utf8').catch(() => '')
    return log
      .split(/\r?\n/)
      .filter((line) => /\t(add|delete)\t/.test(line))
      .map((line) => line.replaceAll('\t', ' '))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#folder[Symbol.asyncDispose]()
  }
}
