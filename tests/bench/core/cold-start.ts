/** From nothing to a complete view of a large cluster: how long, and how much memory. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchOptions, BenchSection } from '../bench-group.ts'
import { renderSpread, spreadOf } from '../statistics.ts'
import type { CoreBench } from './core-bench.ts'
import { MeasuredProcess } from './measured-process.ts'
import type { MeasuredProgram } from './measured-process.ts'
import { fairlead } from './programs.ts'

const ways = [
  { mode: 'stream', title: 'streaming list' },
  { mode: 'whole', title: 'LIST in one answer' },
  { mode: 'pages', title: 'LIST in pages of 500' },
] as const

interface ColdStart {
  readonly toLastByteMs: number
  readonly toCompleteMs: number
  readonly afterLastByteMs: number
  readonly cpuMs: number
  readonly peakMb: number
  readonly settledMb: number
}

const settleMs = 3000
const limits = { afterLastByteMs: 3000, peakMb: 300 }

export async function coldStart(bench: CoreBench, { runs, progress }: BenchOptions): Promise<BenchSection> {
  const cases = ways.flatMap((way) => bench.programs.map((program) => ({ way, program, starts: [] as ColdStart[] })))
  // Round after round, so that a busy minute of the machine does not fall on one of them alone.
  for (let run = 1; run <= runs; run++) {
    progress(`cold start, run ${run} of ${runs}`)
    for (const { way, program, starts } of cases) starts.push(await startOnce(bench, program, way.mode))
  }
  const ours = cases.filter(({ program }) => program === fairlead).flatMap(({ starts }) => starts)
  const worstMs = Math.max(...ours.map(({ afterLastByteMs }) => afterLastByteMs))
  const worstMb = Math.max(...ours.map(({ peakMb }) => peakMb))
  return {
    title: `Cold start with ${bench.services.toLocaleString('en')} Services of 4 endpoints`,
    about: [
      `The API server (a process of its own, answers prepared as bytes, plain HTTP/1.1) sends`,
      `${bench.server.megabytes.toFixed(0)} MB of Services and EndpointSlices. Fairlead is its source, intake, catalog and the`,
      `route tables of both families, compiled; complete means that both views have been taken. The peer is client-go`,
      `0.36's shared informers for both kinds over JSON, which only store the objects; complete means that they say so.`,
      `Lists in pages wait for the client's limit of 5 requests per second, which is kube-proxy's default.`,
      `The last byte is counted when it leaves the server's process. Median (min – max) of ${runs} runs each.`,
    ].join(' '),
    tables: [
      {
        columns: [
          '',
          'start → last byte, s',
          'last byte → complete, s',
          'start → complete, s',
          'CPU, s',
          'peak RSS, MB',
          `RSS after ${settleMs / 1000} s, MB`,
        ],
        rows: cases.map(({ way, program, starts }) => [
          `${way.title}, ${program.name}`,
          seconds(starts.map(({ toLastByteMs }) => toLastByteMs)),
          seconds(starts.map(({ afterLastByteMs }) => afterLastByteMs)),
          seconds(starts.map(({ toCompleteMs }) => toCompleteMs)),
          seconds(starts.map(({ cpuMs }) => cpuMs)),
          megabytes(starts.map(({ peakMb }) => peakMb)),
          megabytes(starts.map(({ settledMb }) => settledMb)),
        ]),
      },
    ],
    findings: [
      `Complete within ${limits.afterLastByteMs / 1000} s of the last byte: ${verdict(worstMs, limits.afterLastByteMs)} (worst of all runs ${(worstMs / 1000).toFixed(2)} s).`,
      `Resident memory below ${limits.peakMb} MB: ${verdict(worstMb, limits.peakMb)} (highest peak of all runs ${worstMb.toFixed(0)} MB).`,
      ...ways.flatMap(({ mode, title }) =>
        ratioFinding(
          title,
          cases.filter(({ way }) => way.mode === mode).map(({ starts }) => starts),
        ),
      ),
    ],
  }
}

async function startOnce(
  { server, services }: CoreBench,
  program: MeasuredProgram,
  mode: 'stream' | 'whole' | 'pages',
): Promise<ColdStart> {
  server.forgetLastByte()
  await using measured = new MeasuredProcess(program, server.url(mode))
  const complete = await measured.complete()
  if (complete.entries !== services)
    throw new Error(`${program.name} knows ${complete.entries} of ${services} Services`)
  await sleep(settleMs)
  const settled = await measured.finish()
  const lastByteMs = server.lastByteMs()
  return {
    toLastByteMs: lastByteMs - measured.startedAtMs,
    toCompleteMs: complete.atMs - measured.startedAtMs,
    afterLastByteMs: complete.atMs - lastByteMs,
    cpuMs: complete.cpuMs,
    peakMb: settled.peakMb,
    settledMb: settled.residentMb,
  }
}

function ratioFinding(title: string, [ours, peers]: readonly (readonly ColdStart[])[]): readonly string[] {
  if (ours === undefined || peers === undefined) return []
  const ratio = (read: (start: ColdStart) => number) =>
    (spreadOf(ours.map(read)).median / spreadOf(peers.map(read)).median).toFixed(2)
  return [
    `Fairlead : client-go, ${title}: ${ratio(({ toCompleteMs }) => toCompleteMs)} in time from start to complete, ${ratio(({ cpuMs }) => cpuMs)} in CPU time, ${ratio(({ peakMb }) => peakMb)} in peak memory.`,
  ]
}

function verdict(worst: number, limit: number): string {
  return worst < limit ? 'met' : '**missed**'
}

function seconds(valuesMs: readonly number[]): string {
  return renderSpread(spreadOf(valuesMs.map((ms) => ms / 1000)), 2)
}

function megabytes(values: readonly number[]): string {
  return renderSpread(spreadOf(values), 0)
}
