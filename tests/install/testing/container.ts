/** A container that runc runs in a network namespace of the test, as a kubelet would run it on that node. */
import { spawnSync } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Namespace } from '../../packet/testing/namespace.ts'
import { NodeProcess } from '../../packet/testing/node-process.ts'
import { TemporaryFolder } from '../../../src/sources/kube/testing/temporary-folder.ts'

export type Capability = 'CAP_NET_ADMIN' | 'CAP_NET_RAW' | 'CAP_NET_BIND_SERVICE' | 'CAP_BPF' | 'CAP_PERFMON'

export interface ContainerOptions {
  /** What umoci has unpacked: the root, and the settings of the image. */
  readonly bundle: string
  readonly node: Namespace
  readonly args: readonly string[]
  /** `all` is a privileged container, whose /proc/sys is writable too. */
  readonly capabilities: readonly Capability[] | 'all'
  readonly user?: number
  /** Files and folders of the machine, by their place in the container. */
  readonly mounts?: Readonly<Record<string, string>>
  /** Instead of the image's. */
  readonly entrypoint?: string
}

export class Container implements AsyncDisposable {
  readonly #folder: TemporaryFolder
  readonly #process: NodeProcess

  private constructor(folder: TemporaryFolder, process: NodeProcess) {
    this.#folder = folder
    this.#process = process
  }

  static async start(options: ContainerOptions): Promise<Container> {
    const folder = await TemporaryFolder.make()
    const bundle = join(folder.path, id(folder))
    await mkdir(bundle)
    const settings = JSON.parse(await readFile(join(options.bundle, 'config.json'), 'utf8')) as Settings
    await writeFile(join(bundle, 'config.json'), JSON.stringify(settingsFor(settings, options)))
    // Whatever ends the test ends unshare, and with the process namespace that it made all that is inside.
    const inside = ['--pid', '--fork', '--kill-child', '--mount-proc', '--']
    const runc = ['runc', '--root', state(folder), 'run', '--bundle', bundle, id(folder)]
    return new Container(folder, new NodeProcess(options.node, 'unshare', [...inside, ...runc]))
  }

  get output(): string {
    return this.#process.output
  }

  get isRunning(): boolean {
    return this.#process.isRunning
  }

  /** The process that the image starts, as the machine sees it. */
  get pid(): number {
    const [runc] = childrenOf(this.#process.pid)
    const [first] = runc === undefined ? [] : childrenOf(runc).filter((pid) => !isOf(pid, 'runc'))
    return first ?? 0
  }

  /** Waits for its end. */
  async ended(): Promise<number | null> {
    return this.#process.ended()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.stop('SIGKILL')
    // Its cgroups are there still.
    spawnSync('runc', ['--root', state(this.#folder), 'delete', '--force', id(this.#folder)])
    await this.#folder[Symbol.asyncDispose]()
  }
}

interface Settings {
  readonly process: { readonly args: readonly string[]; readonly user: object; readonly [field: string]: unknown }
  readonly mounts: readonly { readonly destination: string }[]
  readonly linux: { readonly namespaces: readonly { readonly type: string }[]; readonly [field: string]: unknown }
  readonly [field: string]: unknown
}

function settingsFor(image: Settings, options: ContainerOptions): Settings {
  const { bundle, args, capabilities, user = 0, mounts = {}, entrypoint } = options
  const isPrivileged = capabilities === 'all'
  const names = isPrivileged ? allCapabilities() : capabilities
  const start = entrypoint === undefined ? image.process.args : [entrypoint]
  return {
    ...image,
    process: {
      ...image.process,
      terminal: false,
      // Those of the machine, as containerd has it.
      rlimits: [],
      user: { uid: user, gid: user },
      args: [...start, ...args],
      // A kubelet gives no ambient capabilities: another user than root gets none of these.
      capabilities: { bounding: names, effective: names, permitted: names },
      noNewPrivileges: !isPrivileged,
    },
    root: { path: join(bundle, 'rootfs'), readonly: true },
    mounts: [
      // Without cgroups: what is in the container has no business there.
      ...image.mounts.filter(({ destination }) => destination !== '/sys/fs/cgroup'),
      ...Object.entries(mounts).map(([destination, source]) => ({
        destination,
        source,
        type: 'bind',
        options: ['bind'],
      })),
    ],
    linux: {
      ...image.linux,
      // The network namespace is the one that runc is in, as with hostNetwork.
      namespaces: image.linux.namespaces.filter(({ type }) => type !== 'network'),
      ...(isPrivileged ? { readonlyPaths: [], maskedPaths: [] } : {}),
    },
  }
}

/** Those that this machine can give. */
function allCapabilities(): readonly string[] {
  const set = BigInt(`0x${/^CapBnd:\s*(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'}`)
  const printed = spawnSync('capsh', [`--decode=${set.toString(16)}`], { encoding: 'utf8' }).stdout
  return (printed.trim().split('=')[1] ?? '').toUpperCase().split(',')
}

/** A program with threads, such as runc, has children of each. */
function childrenOf(pid: number): readonly number[] {
  const tasks = `/proc/${pid}/task`
  return readdirSync(tasks).flatMap((task) =>
    readFileSync(`${tasks}/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  )
}

function isOf(pid: number, program: string): boolean {
  return readFileSync(`/proc/${pid}/comm`, 'utf8').trim().startsWith(program)
}

function id(folder: TemporaryFolder): string {
  return `fairlead-${folder.path.split('/').at(-1) ?? ''}`
}

function state(folder: TemporaryFolder): string {
  return join(folder.path, 'state')
}
