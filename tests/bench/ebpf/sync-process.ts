/**
 * `node sync-process.js SERVICES CHANGES MODE CGROUP PINS OBJECT`: what the first sync and each change of an endpoint take a
 * backend, from the view to the kernel. One line of JSON. It runs in a network namespace of its own.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { processCost } from '../core/process-cost.ts'
import { LargeView } from './large-view.ts'
import { openMode } from './opened-mode.ts'
import type { ModeName } from './opened-mode.ts'
import type { SyncResult } from './sync-result.ts'

const [, , services, changes, mode, cgroup = '', pins = '', object = ''] = process.argv
const warmUps = 200
const never = new AbortController().signal

const view = new LargeView(Number(services))
const backend = await openMode(mode as ModeName, { cgroup, pins, object })
const first = await measured(view.takeAll())
const laterChanges: (typeof first)[] = []
for (let version = 2; version < 2 + warmUps + Number(changes); version++) {
  const measuredChange = await measured(view.takeChange(version))
  if (version >= 2 + warmUps) laterChanges.push(measuredChange)
}
const result: SyncResult = {
  firstMs: first.ms,
  firstCpuMs: first.cpuMs,
  changesMs: laterChanges.map(({ ms }) => ms),
  changeCpuMs: laterChanges.reduce((sum, { cpuMs }) => sum + cpuMs, 0) / laterChanges.length,
  residentMb: processCost().residentMb,
  mapsMb: mapBytes() / 1e6,
}
process.stdout.write(`${JSON.stringify(result)}\n`)
process.exit(0)

async function measured({ view: wanted, change }: ReturnType<LargeView['takeAll']>) {
  const [startMs, startCpu] = [performance.now(), process.cpuUsage()]
  const { failed } = await backend.sync(wanted, change, never)
  const ms = performance.now() - startMs
  if (failed.length > 0) throw new Error('not all could be programmed: there is nothing to compare')
  const { user, system } = process.cpuUsage(startCpu)
  return { ms, cpuMs: (user + system) / 1000 }
}

/** What the kernel keeps for the maps that this process has open. */
function mapBytes(): number {
  const folder = '/proc/self/fdinfo'
  const bytesById = new Map<string, number>()
  for (const fd of readdirSync(folder)) {
    const text = readText(`${folder}/${fd}`)
    const field = (name: string) => new RegExp(`^${name}:\\s+(\\d+)$`, 'm').exec(text)?.[1]
    const id = field('map_id')
    // One map may be open twice.
    if (id !== undefined) bytesById.set(id, Number(field('memlock')))
  }
  return [...bytesById.values()].reduce((sum, bytes) => sum + bytes, 0)
}

/** The folder itself was open while it was read. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
