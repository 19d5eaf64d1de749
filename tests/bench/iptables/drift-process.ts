/**
 * `node drift-process.js SERVICES LOOKS VARIANT` fills the tables of the network namespace that it runs in, then compares
 * them with what it wrote, again and again. One line of JSON.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { findDamage } from '../../../src/backends/iptables/find-damage.ts'
import { fullInputs } from '../../../src/backends/iptables/full-input.ts'
import { planIptables } from '../../../src/backends/iptables/plan.ts'
import { readRuleset } from '../../../src/backends/iptables/ruleset.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { silentLogger } from '../../../src/core/logger.ts'
import { processExec } from '../../../src/dataplane/exec/exec.ts'
import { findIptables } from '../../../src/dataplane/iptables/find-iptables.ts'
import { openChainChanges } from '../../../src/dataplane/iptables/chain-changes.ts'
import type { ChainChanges } from '../../../src/dataplane/iptables/chain-changes.ts'
import { openDatagrams } from '../../../src/dataplane/netlink/open-netlink.ts'
import { sharedClockMs } from '../core/shared-clock.ts'
import { daemonCost } from '../daemon/daemon-cost.ts'
import { benchSettings } from './bench-settings.ts'
import type { DriftResult, LookCost } from './drift.ts'
import { largeCluster } from './large-cluster.ts'

const services = Number(process.argv[2])
const looks = Number(process.argv[3])
const variant = process.argv[4] === 'nft' ? 'nf_tables' : 'legacy'
const { signal } = new AbortController()
const questions = 1000

const iptables = await findIptables({
  family: 'ipv4',
  variant,
  exec: processExec,
  clock: systemClock,
  log: silentLogger,
  signal,
})
// A fresh namespace has no kernel counters, and a rule may not name one that is not there.
const settings = { ...benchSettings, counters: { invalidDropped: false, localhostAccepted: false } }
const { view, change } = largeCluster(services).table.take({ full: true })
const plan = planIptables(view, settings, change.keys)
for (const input of fullInputs(plan, await readRuleset(iptables, signal), variant))
  await iptables.restore(input.pieces(), signal)

await using changes = await openChainChanges(
  { iptables, tables: ['filter', 'nat'], openDatagrams, clock: systemClock, log: silentLogger },
  signal,
)
const result: DriftResult = { askMs: await ask(changes), nameMs: [], looks: [] }
for (let look = 0; look < looks; look++) {
  result.nameMs.push(await nameChain(changes, `FOREIGN-${look}`))
  result.looks.push(await lookOnce())
}
process.stdout.write(`${JSON.stringify(result)}\n`)

/** What happens every second when nobody has touched the tables. */
async function ask(kernel: ChainChanges): Promise<number> {
  const startedMs = sharedClockMs()
  for (let asked = 0; asked < questions; asked++) await kernel.take(signal)
  return (sharedClockMs() - startedMs) / questions
}

/** What happens when somebody has: finding out which chain. */
async function nameChain(kernel: ChainChanges, chain: string): Promise<number> {
  await iptables.ensureChain('nat', chain, signal)
  const startedMs = sharedClockMs()
  const touched = await kernel.take(signal)
  const ms = sharedClockMs() - startedMs
  if (touched === 'any' || !touched.has(`nat/${chain}`) || touched.size !== 1)
    throw new Error(
      `one chain was touched, but these are named: ${touched === 'any' ? touched : [...touched].join(', ')}`,
    )
  return ms
}

/** A comparison of everything. */
async function lookOnce(): Promise<LookCost> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const before = await daemonCost('self')
  delay.enable()
  const startedMs = sharedClockMs()
  const state = await readRuleset(iptables, signal)
  const readMs = sharedClockMs() - startedMs
  const damage = await findDamage(plan, state)
  const ms = sharedClockMs() - startedMs
  delay.disable()
  if (damage !== undefined) throw new Error(`the kernel holds something else than what was written: ${damage.found}`)
  const after = await daemonCost('self')
  return {
    ms,
    readMs,
    ownCpuMs: after.ownCpuMs - before.ownCpuMs,
    toolsCpuMs: after.toolsCpuMs - before.toolsCpuMs,
    longestPauseMs: delay.max / 1e6,
  }
}
