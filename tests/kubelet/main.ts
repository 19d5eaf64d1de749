/**
 * `npm run test:e2e`: a real cluster on this machine for each proxy, and the end-to-end tests of Kubernetes against it.
 * How to use it is in docs/conformance.md.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildProgram } from '../cluster/testing/programs.ts'
import { removeAbandonedCgroups } from './cluster/cgroups.ts'
import { parseCommandLine, usage } from './command-line.ts'
import type { CommandLine } from './command-line.ts'
import { renderPage } from './conformance-table.ts'
import { buildFairleadImage } from './images/fairlead-image.ts'
import { packImages } from './images/images.ts'
import { buildGoProgram, programNames } from './programs.ts'
import { proxies } from './proxies/proxies.ts'
import type { Proxy } from './proxies/proxy.ts'
import { recordRun, recordedRun } from './recorded-runs.ts'
import { countOutcomes, renderCounts, renderProblems, writeVitestReport } from './report.ts'
import type { ProxyResults } from './report.ts'
import { missingForCluster } from './requirements.ts'
import type { TestResult } from './results.ts'
import { runInNamespaces } from './run-in-namespaces.ts'
import { focus, onlyByName, skip, smokeFocus, smokeProxies } from './selection.ts'
import { resultFile } from './suite.ts'
import type { SuiteOptions, Task } from './task.ts'

const page = fileURLToPath(new URL('../../docs/conformance.md', import.meta.url))
const resultsFolder = fileURLToPath(new URL('../../.cache/kubelet/results/', import.meta.url))

try {
  process.exitCode = await main(parseCommandLine(process.argv.slice(2)))
} catch (error) {
  process.stderr.write(`e2e: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}

async function main(wish: CommandLine): Promise<number> {
  if (wish.does === 'help') {
    process.stdout.write(usage)
    return 0
  }
  if (wish.does === 'table') return writeTable()
  const missing = await missingForCluster()
  if (missing !== undefined) return reportOf(wish, [skippedForWantOf(missing)])
  const chosen = chooseProxies(wish)
  const images = await build(chosen)
  if (wish.does === 'build') return 0
  await removeAbandonedCgroups()
  if (wish.does === 'hold') {
    const [proxy] = chosen
    if (proxy === undefined || chosen.length !== 1) throw new Error('name one proxy to hold a cluster of')
    await runInNamespaces(taskFor(proxy, wish, images))
    return 0
  }
  const all: ProxyResults[] = []
  for (const proxy of chosen) all.push(await testProxy(proxy, wish, images))
  if (wish.isRecorded) await writeTable()
  return reportOf(wish, all)
}

async function reportOf(wish: CommandLine, all: readonly ProxyResults[]): Promise<number> {
  if (wish.reportFile !== undefined) await writeVitestReport(wish.reportFile, all)
  process.stdout.write(all.map(renderProblems).join(''))
  const counts = countOutcomes(all.flatMap(({ results }) => results))
  process.stdout.write(`${renderCounts(counts)}\n`)
  return counts.failed > 0 || all.some(({ results }) => results.length === 0) ? 1 : 0
}

function skippedForWantOf(missing: string): ProxyResults {
  return { proxy: 'e2e', results: [{ name: 'a real cluster', outcome: 'skipped', seconds: 0, reason: missing }] }
}

function chooseProxies(wish: CommandLine): readonly Proxy[] {
  if (wish.proxies.length === 0)
    return proxies.filter(({ name }) => (wish.isSmoke ? smokeProxies.includes(name) : !onlyByName.includes(name)))
  return wish.proxies.map((name) => {
    const proxy = proxies.find((each) => each.name === name)
    if (proxy !== undefined) return proxy
    throw new Error(`there is no proxy "${name}". Known: ${proxies.map((each) => each.name).join(', ')}.`)
  })
}

interface Images {
  readonly common: string
  readonly fairlead: string | undefined
}

/** All that needs a network, before there is none. */
async function build(chosen: readonly Proxy[]): Promise<Images> {
  for (const name of ['etcd', 'kube-apiserver', 'kube-proxy', 'helm'] as const) await buildProgram(name)
  for (const name of programNames) await buildGoProgram(name)
  const needsOurs = chosen.some(({ needsFairleadImage }) => needsFairleadImage)
  return { common: await packImages(), fairlead: needsOurs ? await buildFairleadImage() : undefined }
}

function taskFor(proxy: Proxy, wish: CommandLine, { common, fairlead }: Images): Omit<Task, 'cgroup' | 'suite'> {
  const images = proxy.needsFairleadImage && fairlead !== undefined ? [common, fairlead] : [common]
  return { proxy: proxy.name, nodeCount: wish.nodeCount, images, resultFolder: join(resultsFolder, proxy.name) }
}

async function testProxy(proxy: Proxy, wish: CommandLine, images: Images): Promise<ProxyResults> {
  const { name } = proxy
  const task = taskFor(proxy, wish, images)
  const { resultFolder } = task
  const started = Date.now()
  const isDone = await runInNamespaces({ ...task, suite: suiteOptions(wish) })
  if (!isDone) {
    const reason = `the cluster did not come up, or its end came too early: see ${resultFolder}`
    return { proxy: name, results: [{ name: 'the cluster', outcome: 'failed', seconds: 0, reason }] }
  }
  const results = JSON.parse(await readFile(join(resultFolder, resultFile), 'utf8')) as readonly TestResult[]
  const minutes = Math.round((Date.now() - started) / 60_000)
  process.stdout.write(`e2e: ${name}: ${renderCounts(countOutcomes(results))} in ${minutes} min\n`)
  const date = new Date(started).toISOString().slice(0, 10)
  if (wish.isRecorded) await recordRun({ proxy: name, date, minutes, nodes: wish.nodeCount, results })
  return { proxy: name, results }
}

function suiteOptions(wish: CommandLine): SuiteOptions {
  const wanted = wish.focus === undefined ? (wish.isSmoke ? smokeFocus : focus) : [wish.focus]
  return { focus: wanted, skip, processes: wish.processes, timeoutMinutes: wish.isSmoke ? 8 : 90 }
}

async function writeTable(): Promise<number> {
  await writeFile(page, await renderPage(await readFile(page, 'utf8'), proxies, recordedRun))
  return 0
}
