/**
 * `node build-process.js SERVICES` works out restore inputs without any tool and prints how long each took: everything,
 * again and again, then one endpoint at a time. One line of JSON.
 */
import { editIptables } from '../../../src/backends/iptables/edit.ts'
import { fullInput } from '../../../src/backends/iptables/full-input.ts'
import { planIptables } from '../../../src/backends/iptables/plan.ts'
import type { IptablesPlan } from '../../../src/backends/iptables/plan.ts'
import { emptyRuleset } from '../../../src/backends/iptables/ruleset.ts'
import { sharedClockMs } from '../core/shared-clock.ts'
import { benchSettings } from './bench-settings.ts'
import type { BuildResult, Cost } from './building.ts'
import { largeCluster } from './large-cluster.ts'

const services = Number(process.argv[2])
const warmBuilds = 6
const edits = 500

const cluster = largeCluster(services)
const { view, change } = cluster.table.take({ full: true })
let plan: IptablesPlan | undefined
let fullText = ''

const first = measure(buildAll)
const warm = Array.from({ length: warmBuilds }, () => measure(buildAll))
const fullBytes = Buffer.byteLength(fullText)

// The first edits warm the machine up; a daemon that edits has been running for a while.
for (let edit = 0; edit < 50; edit++) editOne(edit)
const oneByOne = Array.from({ length: edits }, (_, edit) => editOne(edit))
const result: BuildResult = {
  first,
  warm,
  fullBytes,
  edits: oneByOne.map(({ cost }) => cost),
  mostEditBytes: Math.max(...oneByOne.map(({ bytes }) => bytes)),
}
process.stdout.write(`${JSON.stringify(result)}\n`)

function buildAll(): void {
  plan = planIptables(view, benchSettings, change.keys)
  fullText = fullInput(plan, emptyRuleset).render()
}

/** Also takes the change from the brain, which is not counted as the cost of the input. */
function editOne(edit: number): { readonly cost: Cost; readonly bytes: number } {
  cluster.moveEndpoint((edit * 7919) % services)
  const pending = cluster.table.take({ full: false })
  let text = ''
  const cost = measure(() => {
    if (plan === undefined) throw new Error('nothing has been built')
    const { view: now, change: changed } = pending
    const { input, after } = editIptables(plan, { view: now, settings: benchSettings, keys: changed.keys })
    text = input.render()
    plan = after
  })
  if (text === '') throw new Error(`edit ${edit} changed nothing`)
  return { cost, bytes: Buffer.byteLength(text) }
}

function measure(work: () => void): Cost {
  const cpuBefore = process.cpuUsage()
  const startedMs = sharedClockMs()
  work()
  const ms = sharedClockMs() - startedMs
  const { user, system } = process.cpuUsage(cpuBefore)
  return { ms, cpuMs: (user + system) / 1000 }
}
