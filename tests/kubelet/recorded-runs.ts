/** Runs of the whole suite that are kept with the sources, one file for each proxy; the table of results is made of them. */
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestResult } from './results.ts'

export interface RecordedRun {
  readonly proxy: string
  /** The day, in UTC. */
  readonly date: string
  readonly minutes: number
  readonly nodes: number
  readonly results: readonly TestResult[]
}

const folder = fileURLToPath(new URL('recorded/', import.meta.url))

export async function recordRun(run: RecordedRun): Promise<void> {
  await mkdir(folder, { recursive: true })
  // One test in a line, so that a diff shows what changed.
  const { results, ...about } = run
  const lines = results.map((result) => `    ${JSON.stringify(withoutDetails(result))}`)
  const head = JSON.stringify(about, undefined, 2).slice(0, -2)
  await writeFile(fileOf(run.proxy), `${head},\n  "results": [\n${lines.join(',\n')}\n  ]\n}\n`)
}

export function recordedRun(proxy: string): RecordedRun | undefined {
  if (!existsSync(fileOf(proxy))) return undefined
  return JSON.parse(readFileSync(fileOf(proxy), 'utf8')) as RecordedRun
}

function fileOf(proxy: string): string {
  return join(folder, `${proxy}.json`)
}

/** Times and addresses of one run say nothing to a reader of another. */
function withoutDetails({ reason, ...result }: TestResult): TestResult {
  const line = reason?.trim().split('\n')[0]?.slice(0, 200)
  return line === undefined ? result : { ...result, reason: line }
}
