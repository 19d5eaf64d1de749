/** What algorithms and weights cost in the nftables mode: one change of an endpoint, and the first packet, beside random. */
import { setTimeout as sleep } from 'node:timers/promises'
import { namespaceProblem } from '../../packet/testing/namespace.ts'
import type { BenchGroup, BenchOptions, BenchSection } from '../bench-group.ts'
import { compileScripts } from '../compiled-scripts.ts'
import { serviceAddress } from '../core/cluster-objects.ts'
import { ProxyDaemon } from '../daemon/proxy-daemon.ts'
import { fairlead } from '../daemon/proxy-program.ts'
import { CommitWatch } from '../nftables/commit-watch.ts'
import { PacketSite } from '../nftables/packet-site.ts'
import { spreadOf } from '../statistics.ts'
import { specialKinds } from './special-services.ts'
import type { SpecialKind } from './special-services.ts'

const services = 10_000
const connections = 2_000
const warmUps = 100
const changes = 40
/** Between changes, so that each is a sync of its own. */
const pauseMs = 10

interface Measured {
  readonly kind: SpecialKind
  readonly changesMs: number[]
  readonly connectsUs: number[]
}

export const spreadingGroup: BenchGroup = {
  name: 'spreading',
  async run(options) {
    const problem = namespaceProblem()
    if (problem !== undefined) throw new Error(`the spreading group needs root on Linux, with nft: ${problem}`)
    options.progress('compiling what is measured')
    await compileScripts()
    return [await spreading(options)]
  },
}

async function spreading({ runs, progress }: BenchOptions): Promise<BenchSection> {
  const measured: readonly Measured[] = specialKinds.map((kind) => ({ kind, changesMs: [], connectsUs: [] }))
  for (let run = 1; run <= runs; run++) {
    progress(`${services.toLocaleString('en')} Services, run ${run} of ${runs}`)
    await measure(measured)
  }
  return section(measured, runs)
}

/** One proxy has Services of all kinds, and they take turns: so what else the machine does meets all of them alike. */
async function measure(measured: readonly Measured[]): Promise<void> {
  using site = new PacketSite()
  const flags = ['--iptables-min-sync-period=1ms']
  const setup = { program: fairlead, mode: 'nftables', services, namespace: site.node, flags } as const
  await using daemon = await ProxyDaemon.start({ ...setup, hasSpecialServices: true })
  await daemon.when(({ full }) => full.count > 0)
  await daemon.settles()

  // Before the changes: a pod that has moved is not there.
  for (let turn = 0; turn < warmUps + connections; turn++)
    for (const { kind, connectsUs } of inTurn(measured, turn)) {
      const us = site.connectTime({ ip: serviceAddress(indexOf(kind, turn)), port: 80 })
      if (turn >= warmUps) connectsUs.push(us)
    }

  await using commits = await CommitWatch.start(site.node)
  for (let turn = -2; turn < changes; turn++)
    for (const { kind, changesMs } of inTurn(measured, turn + 2)) {
      const changedAtMs = await daemon.changeEndpoints(1, indexOf(kind, turn + 2))
      const latencyMs = (await commits.firstAfter(changedAtMs)) - changedAtMs
      if (turn >= 0) changesMs.push(latencyMs)
      await sleep(pauseMs)
    }
}

/** Each begins once: what comes after a change of many elements may be slower. */
function inTurn<T>(all: readonly T[], turn: number): readonly T[] {
  const first = turn % all.length
  return [...all.slice(first), ...all.slice(0, first)]
}

function indexOf({ indexes }: SpecialKind, turn: number): number {
  return indexes[turn % indexes.length] ?? 0
}

function section(measured: readonly Measured[], runs: number): BenchSection {
  const rows = measured.map(({ kind, changesMs, connectsUs }) => ({
    name: kind.name,
    change: spreadOf(changesMs),
    connect: spreadOf(connectsUs),
  }))
  const [random] = rows
  const ratio = (one: number, other: number | undefined) => (one / (other ?? NaN)).toFixed(2)
  return {
    title: `Algorithms and weights, ${services.toLocaleString('en')} Services of 4 endpoints`,
    about: [
      'One proxy in nftables mode; nine Services of each kind among the others, all with a cluster IP only. A change replaces one endpoint:',
      `from the API server's write to the kernel's commit, ${changes} times for each kind in each of ${runs} runs, in turns. The first packet is the time of`,
      `connect(), ${connections.toLocaleString('en')} times for each kind and run, in turns, too. Ratios are of medians.`,
    ].join(' '),
    tables: [
      {
        columns: ['', 'one change, median ms', 'p99, ms', ': random', 'first packet, median µs', 'p99, µs', ': random'],
        rows: rows.map(({ name, change, connect }) => [
          name,
          change.median.toFixed(2),
          change.p99.toFixed(2),
          ratio(change.median, random?.change.median),
          connect.median.toFixed(1),
          connect.p99.toFixed(1),
          ratio(connect.median, random?.connect.median),
        ]),
      },
    ],
    findings: rows
      .slice(1)
      .map(
        ({ name, change, connect }) =>
          `${name} : random: ${ratio(change.median, random?.change.median)} in a change of one endpoint, ${ratio(connect.median, random?.connect.median)} in the first packet.`,
      ),
  }
}
