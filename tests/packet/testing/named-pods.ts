/** The folder in which a container runtime gives the network namespaces of pods a name. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Namespace } from './namespace.ts'

export class NamedPods implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'fairlead-test-names-'))

  constructor() {
    mount('-t', 'tmpfs', 'tmpfs', this.#folder)
    mount('--make-shared', this.#folder)
  }

  add(name: string, { path }: Namespace): void {
    const file = join(this.#folder, name)
    writeFileSync(file, '')
    mount('--bind', path, file)
  }

  /** Begins a command: what follows sees these names, also those that come later, and of all processes only its own. */
  get container(): readonly string[] {
    const script = 'mount -t tmpfs tmpfs /run; mkdir /run/netns; mount --rbind "$0" /run/netns; exec "$@"'
    const own = ['unshare', '--mount', '--propagation=slave', '--pid', '--fork', '--kill-child', '--mount-proc']
    return [...own, 'sh', '-ec', script, this.#folder]
  }

  [Symbol.dispose](): void {
    spawnSync('umount', ['--lazy', this.#folder])
    rmdirSync(this.#folder)
  }
}

function mount(...args: readonly string[]): void {
  const { status, stderr } = spawnSync('mount', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`mount ${args.join(' ')}: ${stderr}`)
}
