/** The whole way of a change: from the API server's write to the changed view in the other process. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchOptions, BenchSection } from '../bench-group.ts'
import { spreadOf } from '../statistics.ts'
import type { CoreBench } from './core-bench.ts'
import { MeasuredProcess } from './measured-process.ts'
import type { MeasuredProgram } from './measured-process.ts'

const changes = 1_000
const pauseMs = 5
/** For the last event to arrive. */
const settleMs = 1_000

export async function watchToView(bench: CoreBench, { runs, progress }: BenchOptions): Promise<BenchSection> {
  const cases = bench.programs.map((program) => ({ program, latenciesMs: [] as number[] }))
  for (let run = 1; run <= runs; run++) {
    progress(`watch to view, run ${run} of ${runs}`)
    for (const { program, latenciesMs } of cases) latenciesMs.push(...(await measure(bench, program)))
  }
  const rows = cases.map(({ program, latenciesMs }) => ({ program, latency: spreadOf(latenciesMs) }))
  const [ours, peer] = rows
  return {
    title: `Watch to view with ${bench.services.toLocaleString('en')} Services`,
    about: [
      `One endpoint of a Service changes every ${pauseMs} ms, ${changes.toLocaleString('en')} times in each of ${runs} runs. The time is from the server's`,
      `write into an open watch (HTTP/1.1 on loopback) to the changed view in Fairlead's process, and to the update`,
      `handler in client-go's.`,
    ].join(' '),
    tables: [
      {
        columns: ['', 'min, ms', 'median, ms', 'p99, ms', 'max, ms'],
        rows: rows.map(({ program, latency }) => [
          program.name,
          ...[latency.min, latency.median, latency.p99, latency.max].map((ms) => ms.toFixed(2)),
        ]),
      },
    ],
    findings:
      ours === undefined || peer === undefined
        ? []
        : [
            `Fairlead : client-go: ${(ours.latency.median / peer.latency.median).toFixed(2)} in the median, ${(ours.latency.p99 / peer.latency.p99).toFixed(2)} at p99.`,
          ],
  }
}

async function measure({ server }: CoreBench, program: MeasuredProgram): Promise<number[]> {
  await using measured = new MeasuredProcess(program, server.url('stream'))
  await measured.complete()
  await sleep(settleMs)
  const writtenMsByService = await server.change({ changes, pauseMs })
  await sleep(settleMs)
  const seen = new Map((await measured.finish()).changes)
  return [...writtenMsByService].map(([service, writtenMs]) => {
    const seenMs = seen.get(service)
    if (seenMs === undefined) throw new Error(`${program.name} never saw the change of ${service}`)
    return seenMs - writtenMs
  })
}
