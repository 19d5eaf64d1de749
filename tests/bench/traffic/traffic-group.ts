/** What a reading of all counters costs, compared with what the kernel's own tool takes to print them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Namespace, namespaceProblem } from '../../packet/testing/namespace.ts'
import type { BenchGroup, BenchOptions, BenchSection } from '../bench-group.ts'
import { compileScripts } from '../compiled-scripts.ts'
import { ProxyDaemon } from '../daemon/proxy-daemon.ts'
import { fairlead } from '../daemon/proxy-program.ts'
import { IptablesTools } from '../iptables/iptables-tools.ts'
import { renderSpread, spreadOf } from '../statistics.ts'

export const trafficGroup: BenchGroup = {
  name: 'traffic',
  async run(options) {
    const problem = namespaceProblem()
    if (problem !== undefined) throw new Error(`the traffic group needs root on Linux: ${problem}`)
    options.progress('compiling what is measured')
    await compileScripts()
    return [await readings(options)]
  },
}

const usualServices = 10_000
/** Longer than a reading is good for, if it takes less than three seconds. */
const pauseMs = 31_000

interface Case {
  readonly name: string
  readonly mode: 'iptables' | 'nftables'
  readonly variant?: 'legacy' | 'nft'
  /** What prints the same counters, of both families. */
  readonly peer: readonly (readonly [program: string, ...args: readonly string[]])[]
}

const cases: readonly Case[] = [
  {
    name: 'nftables, against nft list table',
    mode: 'nftables',
    peer: [
      ['nft', 'list', 'table', 'ip', 'fairlead'],
      ['nft', 'list', 'table', 'ip6', 'fairlead'],
    ],
  },
  ...(['nft', 'legacy'] as const).map((variant): Case => ({
    name: `iptables (${variant}), against iptables-save -c`,
    mode: 'iptables',
    variant,
    peer: [
      [`iptables-${variant}-save`, '-c'],
      [`ip6tables-${variant}-save`, '-c'],
    ],
  })),
]

async function readings({ runs, services = usualServices, progress }: BenchOptions): Promise<BenchSection> {
  const rows: (readonly string[])[] = []
  for (const one of cases) {
    progress(`reading counters: ${one.name}`)
    const { ours, theirs } = await measure(one, services, runs)
    const ratio = spreadOf(ours).median / spreadOf(theirs).median
    rows.push([one.name, renderSpread(spreadOf(ours), 2), renderSpread(spreadOf(theirs), 2), ratio.toFixed(2)])
  }
  return {
    title: `Reading what Services carry, ${services.toLocaleString('en')} Services`,
    about: [
      'The page /debug/traffic of a daemon that counts everything, both families, with the connection table; and the tool that',
      `prints the same counters. Seconds, median (min – max) of ${runs} times. Below 1 the page is quicker.`,
    ].join(' '),
    tables: [{ columns: ['', 'page, s', 'tool, s', 'ratio'], rows }],
    findings: [],
  }
}

async function measure({ mode, variant, peer }: Case, services: number, runs: number) {
  using namespace = Namespace.make()
  await using tools = variant === undefined ? undefined : await IptablesTools.make(variant)
  tools?.markVariant(namespace)
  const flags = ['--service-series-limit=1000000']
  const setup = { program: fairlead, mode, services, namespace, flags, ...(tools && { path: tools.path }) }
  await using daemon = await ProxyDaemon.start(setup)
  await daemon.when(({ full }) => full.count > 0)
  await daemon.settles()
  const [ours, theirs]: [number[], number[]] = [[], []]
  for (let run = 0; run < runs; run++) {
    await sleep(pauseMs)
    ours.push(
      secondsOf(namespace, [
        [
          'curl',
          '-sf',
          '--retry',
          '9',
          '--retry-delay',
          '1',
          '-o',
          '/dev/null',
          'http://127.0.0.1:10249/debug/traffic?limit=1',
        ],
      ]),
    )
    theirs.push(secondsOf(namespace, peer))
  }
  return { ours, theirs }
}

function secondsOf(namespace: Namespace, commands: Case['peer']): number {
  const startedAt = performance.now()
  for (const [program, ...args] of commands) namespace.run(program, args)
  return (performance.now() - startedAt) / 1000
}
