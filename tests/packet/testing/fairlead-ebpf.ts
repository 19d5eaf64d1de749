/** Fairlead on a node in its ebpf mode: its clients, pods and processes of the node, are in a cgroup of the test's own. */
import { existsSync, mkdirSync, mkdtempSync, rmdirSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TemporaryFolder } from '../../../src/sources/kube/testing/temporary-folder.ts'
import type { Cluster } from './cluster.ts'
import { FairleadProcess } from './fairlead.ts'
import { missingPrograms } from './iptables-variant.ts'
import { proxyFlags } from './proxy-flags.ts'
import type { Proxy, ProxySettings } from './proxy.ts'
import { cgroupProblem, TestCgroup } from './test-cgroup.ts'

export const fairleadEbpf: Proxy = {
  name: 'ebpf',
  mode: 'ebpf',
  cannot: {},
  missing: () => missingPrograms('nft', 'mount') ?? cgroupProblem() ?? missingObject(),
  start: (cluster, settings) => startEbpf(cluster, settings),
}

function missingObject(): string | undefined {
  const object = new URL('../../../dist/native/fairlead.bpf.o', import.meta.url)
  return existsSync(object) ? undefined : 'the programs are not built: npm run build:ebpf'
}

export async function startEbpf(
  cluster: Cluster,
  settings: ProxySettings,
  moreFlags: readonly string[] = [],
  starter: readonly string[] = [],
): Promise<EbpfProcess> {
  return startEbpfWith(cluster, [...proxyFlags('ebpf', settings), ...moreFlags], starter)
}

/** Where the flags do not say otherwise, it is in a place of its own. */
export async function startEbpfWith(
  cluster: Cluster,
  flags: readonly string[],
  starter: readonly string[] = [],
): Promise<EbpfProcess> {
  const place = new EbpfPlace()
  cluster.useCgroup(place.cgroup)
  return new EbpfProcess(cluster, [...place.flags, ...flags], await TemporaryFolder.make(), place, starter)
}

/** What is pinned here, and attached there, goes with it. */
export class EbpfPlace implements AsyncDisposable {
  readonly cgroup = new TestCgroup()
  readonly bpffs = mkdtempSync(join(tmpdir(), 'fairlead-test-bpf-'))
  readonly pins = join(this.bpffs, 'fairlead')
  readonly flags = [`--ebpf-cgroup=${this.cgroup.path}`, `--ebpf-pins=${this.pins}`]

  constructor() {
    mkdirSync(this.bpffs, { recursive: true })
    const { status, stderr } = spawnSync('mount', ['-t', 'bpf', 'bpf', this.bpffs], { encoding: 'utf8' })
    if (status !== 0) throw new Error(`no BPF file system can be mounted: ${stderr}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    spawnSync('umount', ['--lazy', this.bpffs])
    rmdirSync(this.bpffs)
    await this.cgroup[Symbol.asyncDispose]()
  }
}

export class EbpfProcess extends FairleadProcess {
  readonly place: EbpfPlace

  constructor(
    cluster: Cluster,
    flags: readonly string[],
    folder: TemporaryFolder,
    place: EbpfPlace,
    starter: readonly string[],
  ) {
    super(cluster, flags, folder, {}, starter)
    this.place = place
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]()
    await this.place[Symbol.asyncDispose]()
  }
}
