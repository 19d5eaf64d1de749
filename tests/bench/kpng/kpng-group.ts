/** One core for many nodes: how soon each of them hears of a change, and what that costs the core. */
import type { BenchGroup, BenchOptions } from '../bench-group.ts'
import { compileScripts } from '../compiled-scripts.ts'
import { ApiServer } from '../core/api-server.ts'
import { scripts } from '../core/programs.ts'
import { CoreProcess, costOf } from './core-process.ts'
import { manyNodesSection } from './many-nodes-section.ts'
import type { ManyNodes, Scale } from './many-nodes-section.ts'
import { buildSwarm, Swarm } from './swarm.ts'

/** What is promised; smaller while one works on it. */
const scale: Scale = {
  nodes: Number(process.env['KPNG_NODES'] ?? 500),
  services: Number(process.env['KPNG_SERVICES'] ?? 2_000),
  changesPerSecond: Number(process.env['KPNG_CHANGES'] ?? 100),
  seconds: Number(process.env['KPNG_SECONDS'] ?? 60),
}

export const kpngGroup: BenchGroup = {
  name: 'kpng',
  async run({ progress }) {
    await compileScripts()
    await buildSwarm()
    await using api = await ApiServer.start(scripts.apiServer, scale.services)
    return [manyNodesSection(await measure(api, progress))]
  },
}

async function measure(api: ApiServer, progress: BenchOptions['progress']): Promise<ManyNodes> {
  await using core = await CoreProcess.start(api.url('stream'))
  progress(`${scale.nodes} nodes attach`)
  const idle = costOf(core.pid)
  const attachedAt = performance.now()
  await using swarm = new Swarm(core.address, scale.nodes)
  const firstState = await swarm.firstState()
  const attachSeconds = (performance.now() - attachedAt) / 1000
  if (firstState.services !== scale.services)
    throw new Error(`a node began with ${firstState.services} Services, not with ${scale.services}`)
  const before = { core: costOf(core.pid), swarm: costOf(swarm.pid), api: costOf(api.pid) }
  progress(`${scale.changesPerSecond} changes a second for ${scale.seconds} s`)
  const startedAt = performance.now()
  const changedAtMs = await churn(api)
  const seconds = (performance.now() - startedAt) / 1000
  const after = { core: costOf(core.pid), swarm: costOf(swarm.pid), api: costOf(api.pid) }
  const report = await swarm.report(changedAtMs)
  const watches = [...api.watchesByPath.values()]
  return { scale, firstState, attachSeconds, idle, before, after, seconds, changedAtMs, report, watches, api }
}

async function churn(api: ApiServer): Promise<readonly number[]> {
  const changedAtMs: number[] = []
  const total = scale.seconds * scale.changesPerSecond
  while (changedAtMs.length < total) {
    const changes = Math.min(scale.services, total - changedAtMs.length)
    const writtenMsByService = await api.change({ changes, pauseMs: 1000 / scale.changesPerSecond })
    changedAtMs.push(...writtenMsByService.values())
  }
  return changedAtMs
}
