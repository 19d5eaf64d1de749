/** A node: mount, pid, network and uts namespaces of its own, and in them containerd and a kubelet. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { ServerProcess } from '../../cluster/testing/server-process.ts'
import { run } from '../run.ts'
import type { NodeAddresses } from './addresses.ts'
import { makeCgroups, unifiedFolder } from './cgroups.ts'
import { networkNamespace, stateFolder } from './hub.ts'
import { cniConfiguration, containerdConfiguration, kubeletConfiguration } from './node-configuration.ts'
import { nodeScript } from './node-script.ts'

interface NodePrograms {
  readonly containerd: string
  readonly 'containerd-shim-runc-v2': string
  readonly ctr: string
  readonly kubelet: string
}

export interface NodeOptions {
  readonly addresses: NodeAddresses
  readonly programs: NodePrograms
  readonly images: readonly string[]
  readonly cgroup: string
  readonly kubeconfig: string
  readonly caFile: string
  readonly logFolder: string
}

const processGroup = 'processes'

export class ClusterNode {
  readonly addresses: NodeAddresses
  readonly #logFolder: string
  readonly #pid: number
  /** Of its processes but the pods, and those are beside it: version 2 wants no process in a group that has groups. */
  readonly #processGroup: string | undefined

  private constructor({ addresses, logFolder, cgroup }: NodeOptions, pid: number) {
    this.addresses = addresses
    this.#logFolder = logFolder
    this.#pid = pid
    this.#processGroup = unifiedFolder(`${cgroup}/${addresses.name}/${processGroup}`)
  }

  /** Resolves when the kubelet answers; whether the node is ready is for the API server to say. */
  static async start(options: NodeOptions): Promise<ClusterNode> {
    const { addresses, logFolder } = options
    const folder = join(stateFolder, addresses.name)
    await mkdir(folder)
    const namespaces = new ServerProcess(
      addresses.name,
      'nsenter',
      [`--net=${networkNamespace(addresses)}`, 'unshare', '--mount', '--uts', '--pid', '--fork', '--kill-child',
        '--mount-proc', 'bash', '-c', nodeScript(addresses.name, folder)], // prettier-ignore
      join(logFolder, `${addresses.name}.log`),
    )
    const ready = join(folder, 'ready')
    await namespaces.waitUntil('set up', async () => (await readFile(ready, 'utf8')) !== '')
    const init = await firstProcessOf(addresses.name)
    await makeCgroups(`${options.cgroup}/${addresses.name}/${processGroup}`)
    const node = new ClusterNode(options, init)
    await node.#startContainerd(options)
    await node.#startKubelet(options)
    return node
  }

  /** Starts a program among the processes of the node; it ends with the node at the latest. */
  spawn(name: string, program: string, args: readonly string[]): ServerProcess {
    const log = join(this.#logFolder, `${this.addresses.name}-${name}.log`)
    return new ServerProcess(name, 'nsenter', [...this.#inside, program, ...args], log)
  }

  /** Runs a program to its end in the node. */
  run(program: string, args: readonly string[]): Promise<string> {
    return run('nsenter', [...this.#inside, program, ...args])
  }

  get #inside(): readonly string[] {
    // It forks, and must: a process that has only been moved to a pid namespace cannot make threads.
    const enter = [`--target=${this.#pid}`, '--mount', '--uts', '--net', '--pid', '--']
    if (this.#processGroup === undefined) return enter
    return [...enter, 'bash', '-c', 'echo 0 > "$0/cgroup.procs" && exec "$@"', this.#processGroup]
  }

  async #startContainerd({ addresses, programs, images }: NodeOptions): Promise<void> {
    const folder = join(stateFolder, addresses.name, 'containerd')
    await mkdir(folder)
    await writeFile(join(folder, 'config.toml'), containerdConfiguration)
    await mkdir(join(folder, 'cni'))
    await writeFile(join(folder, 'cni/pods.conflist'), JSON.stringify(cniConfiguration(addresses)))
    await this.run('cp', ['-rT', join(folder, 'cni'), '/etc/cni/net.d'])
    const path = [dirname(programs['containerd-shim-runc-v2']), process.env['PATH'], '/usr/sbin:/sbin'].join(delimiter)
    const containerd = this.spawn('containerd', 'env', [
      `PATH=${path}`,
      programs.containerd,
      `--config=${join(folder, 'config.toml')}`,
    ])
    await containerd.waitUntil('ready', async () => {
      await this.run(programs.ctr, ['version'])
      return true
    })
    for (const archive of images)
      await this.run(programs.ctr, ['--namespace=k8s.io', 'images', 'import', '--local', archive])
  }

  async #startKubelet({ addresses, programs, cgroup, kubeconfig, caFile }: NodeOptions): Promise<void> {
    const group = `${cgroup}/${addresses.name}`
    const file = join(stateFolder, addresses.name, 'kubelet.json')
    await writeFile(file, JSON.stringify(kubeletConfiguration({ cgroup: group, caFile })))
    const kubelet = this.spawn('kubelet', 'env', [
      `PATH=${process.env['PATH']}:/usr/sbin:/sbin`,
      programs.kubelet,
      `--config=${file}`,
      `--kubeconfig=${kubeconfig}`,
      `--hostname-override=${addresses.name}`,
      `--node-ip=${addresses.ipv4},${addresses.ipv6}`,
    ])
    await kubelet.waitUntil('healthy', async () => {
      await this.run('curl', ['--silent', '--fail', 'http://127.0.0.1:10248/healthz'])
      return true
    })
  }
}

/** As this process sees it: the one that "unshare" made, whose command line names the node. */
async function firstProcessOf(name: string): Promise<number> {
  const listed = await run('pgrep', ['--full', '--oldest', `^bash -c # first process of ${name}`])
  return Number(listed)
}
