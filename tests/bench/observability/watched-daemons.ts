/** What one change costs the whole daemon, watched and not: two of them live side by side, and take turns. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Namespace } from '../../packet/testing/namespace.ts'
import type { BenchOptions, BenchSection } from '../bench-group.ts'
import { compiledScript } from '../compiled-scripts.ts'
import { ProxyDaemon } from '../daemon/proxy-daemon.ts'
import { fairlead } from '../daemon/proxy-program.ts'
import type { ProxyProgram } from '../daemon/proxy-program.ts'
import { CommitWatch } from '../nftables/commit-watch.ts'
import { renderSpread, spreadOf } from '../statistics.ts'

const services = 10_000
const warmUps = 500
const turns = 6
/** Of one turn: the kernel counts hundredths of a second. */
const changes = 300
/** Between changes, so that each is a sync of its own. */
const pauseMs = 3
const stride = 7919

const [node, ...program] = fairlead.command
const preload = compiledScript(new URL('./unwatched-daemon.ts', import.meta.url))
const switchable: ProxyProgram = { ...fairlead, command: [node, '--import', preload, ...program] }

interface Case {
  readonly title: string
  readonly isWatched: boolean
  /** Of each turn, what one change took. */
  readonly cpuMs: number[]
}

export async function watchedDaemons({ runs, progress }: BenchOptions): Promise<BenchSection> {
  const off: Case = { title: 'nothing', isWatched: false, cpuMs: [] }
  const on: Case = { title: 'metrics, traces in memory, time to safety', isWatched: true, cpuMs: [] }
  for (let run = 1; run <= runs; run++) {
    progress(`two daemons, run ${run} of ${runs}`)
    await measurePair(run % 2 === 0 ? [on, off] : [off, on])
  }
  const ratio = spreadOf(on.cpuMs.map((cpuMs, turn) => cpuMs / off.cpuMs[turn]!)).median
  return {
    title: 'One change, in the whole daemon',
    about: [
      `The daemon as it is installed, in nftables mode with ${services.toLocaleString('en')} Services of 4 endpoints, in a network namespace of its own, from the bytes of a watch event`,
      'to the commit in the kernel, both IP families. A preload takes away what watches in one of two, after the first sync. Each makes',
      `${warmUps} changes of an endpoint to warm up; then they take turns of ${changes} changes, ${turns} turns each. CPU time of all threads, with all that a daemon does`,
      `besides. Median (min – max) of ${runs} such pairs; the ratio is the median of the ratios of all pairs of turns.`,
    ].join(' '),
    tables: [
      {
        columns: ['watched by', 'one change, CPU ms'],
        rows: [off, on].map(({ title, cpuMs }) => [title, renderSpread(spreadOf(cpuMs), 2)]),
      },
    ],
    findings: [
      `Watched : not watched: ${ratio.toFixed(3)} in the CPU time of one change; within 5 %: ${ratio <= 1.05 ? 'yes' : 'no'}.`,
    ],
  }
}

async function measurePair([first, second]: readonly [Case, Case]): Promise<void> {
  await using one = await LivingDaemon.start(first)
  await using other = await LivingDaemon.start(second)
  for (const daemon of [one, other]) await daemon.warmUp()
  for (let turn = 0; turn < turns; turn++)
    for (const daemon of turn % 2 === 0 ? [one, other] : [other, one])
      daemon.measured.cpuMs.push(await daemon.change(changes))
}

class LivingDaemon implements AsyncDisposable {
  readonly measured: Case
  readonly #namespace: Namespace
  readonly #daemon: ProxyDaemon
  readonly #commits: CommitWatch
  #changed = 0

  static async start(measured: Case): Promise<LivingDaemon> {
    const namespace = Namespace.make()
    const daemon = await ProxyDaemon.start({
      program: switchable,
      mode: 'nftables',
      services,
      namespace,
      flags: ['--iptables-min-sync-period=1ms'],
    })
    await daemon.when(({ full }) => full.count > 0)
    await daemon.settles(10_000)
    if (!measured.isWatched) daemon.signal('SIGUSR2')
    return new LivingDaemon(measured, namespace, daemon, await CommitWatch.start(namespace))
  }

  private constructor(measured: Case, namespace: Namespace, daemon: ProxyDaemon, commits: CommitWatch) {
    this.measured = measured
    this.#namespace = namespace
    this.#daemon = daemon
    this.#commits = commits
  }

  async warmUp(): Promise<void> {
    const counted = async () => (await this.#daemon.when(() => true)).partial.count
    const before = await counted()
    await this.change(warmUps)
    const countsSyncs = (await counted()) > before
    if (countsSyncs !== this.measured.isWatched)
      throw new Error(
        `the daemon that is watched by ${this.measured.title} ${countsSyncs ? 'counts' : 'does not count'} syncs`,
      )
  }

  /** CPU time that one of so many changes takes. */
  async change(count: number): Promise<number> {
    const before = await this.#daemon.cost()
    for (let change = 0; change < count; change++) {
      const changedAtMs = await this.#daemon.changeEndpoints(1, (++this.#changed * stride) % services)
      await this.#commits.firstAfter(changedAtMs)
      await sleep(pauseMs)
    }
    const after = await this.#daemon.cost()
    return (after.ownCpuMs + after.toolsCpuMs - before.ownCpuMs - before.toolsCpuMs) / count
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#commits[Symbol.asyncDispose]()
    await this.#daemon[Symbol.asyncDispose]()
    this.#namespace[Symbol.dispose]()
  }
}
