/** How soon the daemon notices what others do to its rules, and how soon they are back. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Namespace } from '../../packet/testing/namespace.ts'
import type { BenchOptions, BenchSection } from '../bench-group.ts'
import { ProxyDaemon } from '../daemon/proxy-daemon.ts'
import { fairlead } from '../daemon/proxy-program.ts'
import { renderSpread, spreadOf } from '../statistics.ts'
import { IptablesTools } from './iptables-tools.ts'

const variants = ['legacy', 'nft'] as const
type Variant = (typeof variants)[number]

interface Damage {
  readonly name: string
  /** What somebody does to the nat table. */
  readonly args: readonly string[]
  /** Chains that must hold the same rules again. */
  readonly chains: readonly string[]
}

interface Repair {
  readonly noticedMs: number
  readonly repairedMs: number
}

interface Case {
  readonly variant: Variant
  readonly damage: string
  readonly repairs: Repair[]
}

const services = 10_000
const limits = { noticedMs: 5_000, repairedMs: 10_000 }
const lookEveryMs = 200
const patienceMs = 120_000

export async function repairs({ runs, progress }: BenchOptions): Promise<BenchSection> {
  const cases: Case[] = []
  for (const variant of variants) {
    progress(`noticing and repairing, ${variant}: starting`)
    cases.push(...(await measure(variant, runs, progress)))
  }
  return {
    title: `Repairing what others change, ${services.toLocaleString('en')} Services`,
    about: [
      `The daemon as it is installed, in a fresh network namespace, IPv4 and IPv6, after its first sync and whatever follows`,
      `that. Somebody else runs one iptables command; from the end of that command, "noticed" is when the daemon says so in`,
      `its log, and "repaired" is when the chains in the kernel hold the same rules again. kube-proxy looks for one empty`,
      `chain every 30 seconds, and would notice none of these. Median (min – max) of ${runs} times, in one life of the daemon.`,
    ].join(' '),
    tables: [
      {
        columns: ['', 'noticed, s', 'repaired, s'],
        rows: cases.map(({ variant, damage, repairs: done }) => [
          `${variant}: ${damage}`,
          seconds(done.map(({ noticedMs }) => noticedMs)),
          seconds(done.map(({ repairedMs }) => repairedMs)),
        ]),
      },
    ],
    findings: variants.map((variant) => {
      const done = cases.filter((one) => one.variant === variant).flatMap((one) => one.repairs)
      const noticed = Math.max(...done.map(({ noticedMs }) => noticedMs))
      const repaired = Math.max(...done.map(({ repairedMs }) => repairedMs))
      return `${variant}: noticed within 5 s ${verdict(noticed, limits.noticedMs)}, repaired within 10 s ${verdict(repaired, limits.repairedMs)} (the slowest of all: ${(noticed / 1000).toFixed(1)} s and ${(repaired / 1000).toFixed(1)} s).`
    }),
  }
}

async function measure(variant: Variant, runs: number, progress: BenchOptions['progress']): Promise<readonly Case[]> {
  using namespace = Namespace.make()
  await using tools = await IptablesTools.make(variant)
  tools.markVariant(namespace)
  const setup = { program: fairlead, mode: 'iptables', services, namespace, path: tools.path } as const
  await using daemon = await ProxyDaemon.start(setup)
  await daemon.when(({ full }) => full.count > 0)
  const list = (chain: string) => namespace.run(`/usr/sbin/iptables-${variant}`, ['-t', 'nat', '-S', chain])
  const damages = damagesTo(list)
  const cases = damages.map(({ name }): Case => ({ variant, damage: name, repairs: [] }))
  for (let run = 1; run <= runs; run++)
    for (const [index, damage] of damages.entries()) {
      await daemon.settles()
      progress(`noticing and repairing, ${variant}: ${damage.name}, ${run} of ${runs}`)
      const snapshot = () => damage.chains.map((chain) => list(chain).split('\n').sort().join('\n')).join('\n')
      const before = snapshot()
      const hearing = daemon.says('somebody else changed the rules')
      const { full } = await daemon.when(() => true)
      namespace.run(`/usr/sbin/iptables-${variant}`, ['-t', 'nat', ...damage.args])
      const damagedAtMs = Date.now()
      const noticedAtMs = await hearing
      const { syncedAtMs } = await daemon.when((metrics) => metrics.full.count > full.count)
      // The daemon's word is not enough; but to ask the kernel all the time would slow the repair down.
      let repairedAtMs = syncedAtMs
      while (snapshot() !== before) {
        if (Date.now() - damagedAtMs > patienceMs) throw new Error(`${damage.name} (${variant}) is not repaired`)
        await sleep(lookEveryMs)
        repairedAtMs = Date.now()
      }
      cases[index]?.repairs.push({
        noticedMs: noticedAtMs - damagedAtMs,
        repairedMs: Math.max(repairedAtMs, noticedAtMs) - damagedAtMs,
      })
    }
  return cases
}

function damagesTo(list: (chain: string) => string): readonly Damage[] {
  const chainOfService = /-j (KUBE-SVC-\w+)/.exec(list('KUBE-SERVICES'))?.[1] ?? ''
  const chainOfEndpoint = /-j (KUBE-SEP-\w+)/.exec(list(chainOfService))?.[1] ?? ''
  return [
    { name: 'a flush of the nat table', args: ['-F'], chains: ['PREROUTING', 'KUBE-SERVICES', chainOfEndpoint] },
    { name: 'a deleted jump', args: ['-D', 'PREROUTING', '1'], chains: ['PREROUTING'] },
    { name: 'a rule less in KUBE-SERVICES', args: ['-D', 'KUBE-SERVICES', '5000'], chains: ['KUBE-SERVICES'] },
    {
      name: 'a rule replaced by one of the same length',
      args: replaced(list, chainOfEndpoint),
      chains: [chainOfEndpoint],
    },
    { name: 'a chain of an endpoint emptied', args: ['-F', chainOfEndpoint], chains: [chainOfEndpoint] },
  ]
}

/** Leads to another port of the same endpoint. */
function replaced(list: (chain: string) => string, chain: string): readonly string[] {
  const rules = list(chain)
    .split('\n')
    .filter((line) => line.startsWith('-A '))
  const place = rules.findIndex((line) => line.includes('-j DNAT'))
  const words = (rules[place] ?? '').split(' ').slice(2)
  const target = (words.pop() ?? '').replace(/\d$/, (digit) => `${(Number(digit) + 1) % 10}`)
  return ['-R', chain, `${place + 1}`, ...words.map((word) => word.replaceAll('"', '')), target]
}

function seconds(ms: readonly number[]): string {
  return renderSpread(spreadOf(ms.map((value) => value / 1000)), 1)
}

function verdict(value: number, limit: number): string {
  return value < limit ? 'met' : '**missed**'
}
