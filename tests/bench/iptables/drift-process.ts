/**
 * `node drift-process.js SERVICES LOOKS` fills the tables of the network namespace that it runs in, then compares them
 * with what it wrote, again and again. One line of JSON.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { findDamage } from '../../../src/backends/iptables/find-damage.ts'
import { fullInput } from '../../../src/backends/iptables/full-input.ts'
import { readKernelState } from '../../../src/backends/iptables/kernel-state.ts'
import { planIptables } from '../../../src/backends/iptables/plan.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { silentLogger } from '../../../src/core/logger.ts'
import { processExec } from '../../../src/dataplane/exec/exec.ts'
import { openChangeDetector } from '../../../src/dataplane/iptables/change-detector.ts'
import { findIptables } from '../../../src/dataplane/iptables/find-iptables.ts'
import { sharedClockMs } from '../core/shared-clock.ts'
import { benchSettings } from './bench-settings.ts'
import { daemonCost } from '../daemon/daemon-cost.ts'
import type { DriftResult, LookCost } from './drift.ts'
import { largeCluster } from './large-cluster.ts'

const services = Number(process.argv[2])
const looks = Number(process.argv[3])
const { signal } = new AbortController()
const tokens = 1000

const iptables = await findIptables({
  family: 'ipv4',
  variant: 'legacy',
  exec: processExec,
  clock: systemClock,
  log: silentLogger,
  signal,
})
// A fresh namespace has no kernel counters, and a rule may not name one that is not there.
const settings = { ...benchSettings, counters: { invalidDropped: false, localhostAccepted: false } }
const { view, change } = largeCluster(services).table.take({ full: true })
const plan = planIptables(view, settings, change.keys)
await iptables.restore(fullInput(plan, await readKernelState(iptables, signal)).render(), signal)

const result: DriftResult = { tokenMs: await askForTokens(), looks: [] }
for (let look = 0; look < looks; look++) result.looks.push(await lookOnce())
process.stdout.write(`${JSON.stringify(result)}\n`)

/** What happens every two seconds when nobody has touched the tables. */
async function askForTokens(): Promise<number> {
  using detector = await openChangeDetector({ iptables, tables: ['filter', 'nat'], log: silentLogger }, signal)
  const startedMs = sharedClockMs()
  for (let asked = 0; asked < tokens; asked++) await detector.token(signal)
  return (sharedClockMs() - startedMs) / tokens
}

/** What happens when somebody has. */
async function lookOnce(): Promise<LookCost> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const before = await daemonCost('self')
  delay.enable()
  const startedMs = sharedClockMs()
  const state = await readKernelState(iptables, signal)
  const readMs = sharedClockMs() - startedMs
  const found = await findDamage(plan, state)
  const ms = sharedClockMs() - startedMs
  delay.disable()
  if (found !== undefined) throw new Error(`the kernel holds something else than what was written: ${found.found}`)
  const after = await daemonCost('self')
  return {
    ms,
    readMs,
    ownCpuMs: after.ownCpuMs - before.ownCpuMs,
    toolsCpuMs: after.toolsCpuMs - before.toolsCpuMs,
    longestPauseMs: delay.max / 1e6,
  }
}
