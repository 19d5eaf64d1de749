/** A pod of the cluster that becomes one of gVisor: its sockets are in a kernel of its own, which sends packets. */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { programPath } from '../../cluster/testing/programs.ts'
import type { localPods } from './address-plan.ts'
import type { Cluster } from './cluster.ts'
import type { Namespace } from './namespace.ts'

/** Why there can be none here, or undefined when there can. */
export async function gvisorProblem(): Promise<string | undefined> {
  if (existsSync(await programPath('runsc'))) return undefined
  return 'runsc is not built: npx tsx tests/cluster/build.ts runsc'
}

/** gVisor wants a next hop of the same family. The node's end of the pod's link has it, as with Calico. */
const gateway = '169.254.1.1'

export class GvisorPod implements AsyncDisposable {
  readonly #pod: Namespace
  readonly #runsc: string
  readonly #folder: string

  private constructor(pod: Namespace, runsc: string, folder: string) {
    this.#pod = pod
    this.#runsc = runsc
    this.#folder = folder
  }

  static async of(cluster: Cluster, name: (typeof localPods)[number]): Promise<GvisorPod> {
    const pod = cluster.host(name)
    cluster.node.ip(`address add ${gateway}/32 dev pod-${name}`)
    pod.ip(`route add ${gateway} dev eth0 scope link`, `route replace default via ${gateway} dev eth0`)
    return new GvisorPod(pod, await programPath('runsc'), await mkdtemp(join(tmpdir(), 'fairlead-test-gvisor-')))
  }

  /**
   * Runs JavaScript in the pod's only container, with the files of this machine, and returns what it prints. gVisor takes the
   * addresses out of the namespace, so nothing else can be run there afterwards.
   */
  async run(script: string): Promise<string> {
    await writeFile(join(this.#folder, 'config.json'), JSON.stringify(bundle(this.#pod.path, script)))
    const args = ['--network=sandbox', '--platform=systrap', '--ignore-cgroups', 'run', `--bundle=${this.#folder}`]
    const container = this.#pod.start(this.#runsc, [...(await this.#rootFlags()), ...args, containerName], process.env)
    const [printed, complaints] = await Promise.all([
      text(container.stdout),
      text(container.stderr),
      once(container, 'close'),
    ])
    if (container.exitCode !== 0) throw new Error(`the container of gVisor failed:\n${printed}${complaints}`)
    return printed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const root = await this.#rootFlags()
    spawnSync(this.#runsc, [...root, 'delete', '--force', containerName])
    // It leaves a namespace without anything mounted there.
    spawnSync('umount', ['--lazy', join(this.#folder, 'state', 'null-netns')])
    await rm(this.#folder, { recursive: true })
  }

  async #rootFlags(): Promise<readonly string[]> {
    const state = join(this.#folder, 'state')
    await mkdir(state, { recursive: true })
    return [`--root=${state}`]
  }
}

const containerName = 'client'

function bundle(networkNamespace: string, script: string) {
  return {
    ociVersion: '1.0.0',
    process: {
      user: { uid: 0, gid: 0 },
      args: [process.execPath, '-e', script],
      env: ['PATH=/usr/bin:/bin'],
      cwd: '/',
    },
    root: { path: '/', readonly: true },
    hostname: 'client',
    mounts: [{ destination: '/proc', type: 'proc', source: 'proc' }],
    linux: {
      namespaces: [
        ...['pid', 'ipc', 'uts', 'mount'].map((type) => ({ type })),
        { type: 'network', path: networkNamespace },
      ],
    },
  }
}
