/** Fairlead on a node, with its objects in a file. */
import { rename } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { TemporaryFolder } from '../../../src/sources/kube/testing/temporary-folder.ts'
import { installedExecutable } from '../../e2e/testing/fairlead-process.ts'
import type { Cluster } from './cluster.ts'
import { chooseVariant, missingPrograms } from './iptables-variant.ts'
import type { IptablesVariant } from './iptables-variant.ts'
import { NodeProcess } from './node-process.ts'
import { proxyFlags } from './proxy-flags.ts'
import type { Proxy, ProxySettings, RunningProxy } from './proxy.ts'
import type { KubernetesObject } from './service-fixture.ts'

export function fairleadIptables(variant: IptablesVariant): Proxy {
  return {
    name: `iptables (${variant})`,
    mode: 'iptables',
    cannot: {},
    missing: () => missingPrograms(`iptables-${variant}`, `ip6tables-${variant}`),
    start: (cluster, settings) => startFairlead(cluster, { variant, settings }),
  }
}

export const fairleadNftables: Proxy = {
  name: 'nftables',
  mode: 'nftables',
  cannot: {},
  missing: () => missingPrograms('nft'),
  start: startFairleadNftables,
}

export async function startFairleadNftables(cluster: Cluster, settings: ProxySettings): Promise<FairleadProcess> {
  return new FairleadProcess(cluster, proxyFlags('nftables', settings), await TemporaryFolder.make(), {})
}

export interface FairleadOptions {
  readonly variant: IptablesVariant
  readonly settings?: ProxySettings
  /** Added to that of the test. */
  readonly env?: Readonly<Record<string, string>>
}

export async function startFairlead(cluster: Cluster, options: FairleadOptions): Promise<FairleadProcess> {
  const { variant, settings = {}, env = {} } = options
  chooseVariant(cluster.node, variant)
  return new FairleadProcess(cluster, proxyFlags('iptables', settings), await TemporaryFolder.make(), env)
}

export class FairleadProcess implements RunningProxy {
  protected readonly cluster: Cluster
  readonly #flags: readonly string[]
  readonly #folder: TemporaryFolder
  readonly #env: Readonly<Record<string, string>>
  readonly #starter: readonly string[]
  #process: NodeProcess | undefined
  #ownsFolder = true

  /** The starter is a program, with arguments, that runs the one named after it. */
  constructor(
    cluster: Cluster,
    flags: readonly string[],
    folder: TemporaryFolder,
    env: Readonly<Record<string, string>>,
    starter: readonly string[] = [],
  ) {
    this.cluster = cluster
    this.#flags = flags
    this.#folder = folder
    this.#env = env
    this.#starter = starter
  }

  /** The process starts with the first objects, as a node joins a cluster that has some. */
  async apply(objects: readonly KubernetesObject[]): Promise<void> {
    const list = { apiVersion: 'v1', kind: 'List', items: objects }
    // As a whole, so that no half of it is read.
    const aside = await this.#folder.write('objects.aside', JSON.stringify(list))
    await rename(aside, `${this.#folder.path}/objects.json`)
    if (this.#process === undefined) this.run()
  }

  run(): void {
    const fairlead = installedExecutable === undefined ? [process.execPath, fairleadProgram] : [installedExecutable]
    const [first = '', ...rest] = [...this.#starter, ...fairlead]
    this.#process = new NodeProcess(
      this.cluster.node,
      first,
      [...rest, ...this.#flags, `--objects=${this.#folder.path}`],
      this.#env,
    )
  }

  /** Another process with the same objects, started like this one or otherwise. It does not run yet. */
  second(moreFlags: readonly string[], starter: readonly string[] = this.#starter): FairleadProcess {
    const flags = [...this.#flags.filter((flag) => !moreFlags.includes(flag)), ...moreFlags]
    const others = new FairleadProcess(this.cluster, flags, this.#folder, this.#env, starter)
    others.#ownsFolder = false
    return others
  }

  get isRunning(): boolean {
    return this.#process?.isRunning === true
  }

  /** Ends the process; its rules stay. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    await this.#process?.stop(signal)
  }

  /** Of the process that runs, or ran last. */
  get pid(): number {
    return this.#process?.pid ?? 0
  }

  /** To a process that runs; it may go on afterwards. */
  signal(signal: NodeJS.Signals): void {
    if (this.#process !== undefined) process.kill(this.#process.pid, signal)
  }

  log(): string {
    return this.#process?.output ?? 'Fairlead was not started'
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop('SIGKILL')
    if (this.#ownsFolder) await this.#folder[Symbol.asyncDispose]()
  }
}

/** Removes what proxies left on the node; throws when it cannot. */
export function cleanUp({ node }: Cluster): void {
  node.run(process.execPath, [fairleadProgram, '--cleanup'])
}

export const fairleadProgram = fileURLToPath(new URL('../../../bin/fairlead.js', import.meta.url))
