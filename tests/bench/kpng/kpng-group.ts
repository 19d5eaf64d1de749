/** One core for many nodes: how soon each of them hears of a change, and what that costs the core. */
import { fork, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BenchGroup, BenchSection } from '../bench-group.ts'
import { compiledScript, compileScripts } from '../compiled-scripts.ts'
import { ApiServer } from '../core/api-server.ts'
import { scripts } from '../core/programs.ts'
import type { FromSwarm, SwarmReport, ToSwarm } from './swarm-messages.ts'

const nodes = Number(process.env['KPNG_NODES'] ?? 500)
const services = 2_000
const changesPerSecond = 100
/** A minute shows more, and takes one: KPNG_SECONDS=60. */
const seconds = Number(process.env['KPNG_SECONDS'] ?? 15)

export const kpngGroup: BenchGroup = {
  name: 'kpng',
  async run({ progress }) {
    await compileScripts()
    const folder = await mkdtemp(join(tmpdir(), 'fairlead-bench-'))
    try {
      await using api = await ApiServer.start(scripts.apiServer, services)
      return [await measure(api, join(folder, 'core.sock'), progress)]
    } finally {
      await rm(folder, { recursive: true })
    }
  },
}

async function measure(api: ApiServer, socket: string, progress: (text: string) => void): Promise<BenchSection> {
  await using core = await startCore(api.url('stream'), socket)
  const idle = costOf(core.pid)
  progress(`${nodes} nodes attach`)
  const attachedAt = performance.now()
  await using swarm = new Swarm(socket)
  await swarm.isSynced()
  const attachSeconds = (performance.now() - attachedAt) / 1000
  const before = costOf(core.pid)
  progress(`${changesPerSecond} changes a second for ${seconds} s`)
  const startedAt = performance.now()
  const changedAtMs: number[] = []
  while (changedAtMs.length < seconds * changesPerSecond) {
    const changes = Math.min(services, seconds * changesPerSecond - changedAtMs.length)
    const written = await api.change({ changes, pauseMs: 0.8 * (1000 / changesPerSecond) })
    changedAtMs.push(...written.values())
  }
  const report = await swarm.report({ changedAtMs })
  const wallSeconds = (performance.now() - startedAt) / 1000
  const after = costOf(core.pid)
  return section({ report, attachSeconds, wallSeconds, changes: changedAtMs.length, idle, before, after })
}

interface Measured {
  readonly report: SwarmReport
  readonly attachSeconds: number
  readonly wallSeconds: number
  readonly changes: number
  readonly idle: ProcessCost
  readonly before: ProcessCost
  readonly after: ProcessCost
}

function section(measured: Measured): BenchSection {
  const { report, attachSeconds, wallSeconds, changes, idle, before, after } = measured
  const cpu = (after.cpuSeconds - before.cpuSeconds) / wallSeconds
  const rows: [string, string][] = [
    ['first state at all nodes', `${attachSeconds.toFixed(1)} s`],
    ['changes per second', (changes / wallSeconds).toFixed(0)],
    ['delay, median', `${report.medianMs.toFixed(0)} ms`],
    ['delay, 99 of 100', `${report.p99Ms.toFixed(0)} ms`],
    ['delay, longest', `${report.maxMs.toFixed(0)} ms`],
    ['changes that a node missed', String(report.missing)],
    ['answers per node and second', (report.changeSets / wallSeconds).toFixed(1)],
    ['CPU of the core', `${(100 * cpu).toFixed(0)} % of one`],
    ['memory of the core without clients', `${idle.megabytes.toFixed(0)} MB`],
    ['memory of the core afterwards', `${after.megabytes.toFixed(0)} MB`],
    ['most memory of the core', `${after.peakMegabytes.toFixed(0)} MB`],
    ['watches on the API server', 'one for each kind of object'],
  ]
  return {
    title: `One core for ${nodes} nodes`,
    about:
      `${services} Services with 4 endpoints each, and an API server with bytes prepared beforehand. ${nodes} nodes follow ` +
      `one \`fairlead kube to-api\` over a unix socket, each with a connection of its own. One endpoint of one Service ` +
      `changes ${changesPerSecond} times a second; every node has to hear of every change. The delay is the time from ` +
      `the event of the API server to the node. Nodes and API server share the machine with the core.`,
    tables: [{ columns: ['', ''], rows }],
    findings: [],
  }
}

interface ProcessCost {
  readonly cpuSeconds: number
  readonly megabytes: number
  readonly peakMegabytes: number
}

function costOf(pid: number): ProcessCost {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const megabytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
  // In clock ticks, of which Linux has 100 a second.
  return {
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / 100,
    megabytes: megabytes('VmRSS'),
    peakMegabytes: megabytes('VmHWM'),
  }
}

async function startCore(url: string, socket: string): Promise<AsyncDisposable & { readonly pid: number }> {
  const args = [program, 'kube', 'to-api', `--server=${url}`, `--listen=unix://${socket}`]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'pipe'] })
  await new Promise<void>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (text.includes('serving the KPNG API')) resolve()
    })
    child.once('exit', (code) => reject(new Error(`the core ended with status ${code}`)))
  })
  return { pid: child.pid ?? 0, [Symbol.asyncDispose]: () => ended(child, () => child.kill('SIGTERM')) }
}

class Swarm implements AsyncDisposable {
  readonly #child: ChildProcess

  constructor(socket: string) {
    this.#child = fork(compiledScript(new URL('swarm-process.ts', import.meta.url)), [socket, String(nodes)])
  }

  async isSynced(): Promise<void> {
    const message = await this.#next()
    if (message.kind !== 'synced' || message.services < services)
      throw new Error(`the first state is not complete: ${JSON.stringify(message)}`)
  }

  async report(question: ToSwarm): Promise<SwarmReport> {
    this.#child.send(question)
    const message = await this.#next()
    if (message.kind !== 'report') throw new Error(`expected a report, not ${message.kind}`)
    return message.report
  }

  [Symbol.asyncDispose](): Promise<void> {
    return ended(this.#child, () => this.#child.disconnect())
  }

  async #next(): Promise<FromSwarm> {
    const [message] = (await once(this.#child, 'message')) as [FromSwarm]
    return message
  }
}

async function ended(child: ChildProcess, end: () => void): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  end()
  await exited
}

const program = fileURLToPath(new URL('../../../bin/fairlead.js', import.meta.url))
