/** What the first packet of a connection pays for going to a Service. */
import type { BenchOptions, BenchSection } from '../bench-group.ts'
import { podAddress, serviceAddress } from '../core/cluster-objects.ts'
import { ProxyDaemon } from '../daemon/proxy-daemon.ts'
import { fairlead } from '../daemon/proxy-program.ts'
import type { ProxyProgram } from '../daemon/proxy-program.ts'
import { spreadOf } from '../statistics.ts'
import type { TcpAddress } from './connect-time.ts'
import { PacketSite } from './packet-site.ts'

const services = 10_000
const connectionsPerRun = 3000
const warmUps = 200
/** In the middle of the table, with a cluster IP only. */
const measured = 5_001
const limit = 1.1

interface Path {
  readonly name: string
  readonly to: TcpAddress
  readonly times: number[]
  /** Makes the node what the path is about. */
  prepare(site: PacketSite): Promise<AsyncDisposable>
}

const pod: TcpAddress = { ip: podAddress(measured, 0), port: 8080 }
const service: TcpAddress = { ip: serviceAddress(measured), port: 80 }

export async function firstPacket(
  peer: ProxyProgram | undefined,
  { runs, progress }: BenchOptions,
): Promise<BenchSection> {
  const paths: readonly Path[] = [
    { name: 'direct, no rules', to: pod, times: [], prepare: async () => nothing },
    { name: 'one DNAT rule, nothing else', to: service, times: [], prepare: oneRule },
    ...[fairlead, ...(peer === undefined ? [] : [peer])].map((program): Path => ({
      name: `${services.toLocaleString('en')} Services, ${program.name}`,
      to: service,
      times: [],
      prepare: (site) => proxy(program, site),
    })),
  ]
  for (let run = 1; run <= runs; run++) {
    progress(`first packets, run ${run} of ${runs}`)
    await measure(paths)
  }
  return section(paths, runs)
}

/** In turns, connection by connection: so what else the machine does meets all of them alike. */
async function measure(paths: readonly Path[]): Promise<void> {
  const sites = paths.map((path) => ({ path, site: new PacketSite() }))
  const running: AsyncDisposable[] = []
  try {
    for (const { path, site } of sites) running.push(await path.prepare(site))
    for (let n = 0; n < warmUps + connectionsPerRun; n++)
      for (const { path, site } of sites) {
        const us = site.connectTime(path.to)
        if (n >= warmUps) path.times.push(us)
      }
  } finally {
    for (const one of running) await one[Symbol.asyncDispose]()
    for (const { site } of sites) site[Symbol.dispose]()
  }
}

const nothing: AsyncDisposable = { [Symbol.asyncDispose]: async () => {} }

async function oneRule({ node }: PacketSite): Promise<AsyncDisposable> {
  const rule = `ip daddr ${service.ip} tcp dport ${service.port} dnat to ${pod.ip}:${pod.port}`
  const lines = [
    'add table ip plain',
    'add chain ip plain nat { type nat hook prerouting priority -100 ; }',
    `add rule ip plain nat ${rule}`,
  ]
  node.run('nft', ['-f', '-'], { input: lines.join('\n') })
  return nothing
}

async function proxy(program: ProxyProgram, { node }: PacketSite): Promise<AsyncDisposable> {
  const daemon = await ProxyDaemon.start({ program, mode: 'nftables', services, namespace: node })
  await daemon.when(({ full }) => full.count > 0)
  // It shall not work while packets are measured.
  await daemon.settles()
  return daemon
}

function section(paths: readonly Path[], runs: number): BenchSection {
  const spreads = paths.map(({ name, times }) => ({ name, ...spreadOf(times) }))
  const [, plain, ours, peers] = spreads
  const ratio = (median: number) => median / (plain?.median ?? NaN)
  return {
    title: 'The first packet',
    about: [
      `A client, a node and a server in namespaces. The time of connect(), from the first packet until the connection is`,
      `there, in ${connectionsPerRun.toLocaleString('en')} connections on each path in each of ${runs} runs, in turns.`,
      `What a path costs beyond the first packet is the same for all, because the kernel remembers the translation.`,
    ].join(' '),
    tables: [
      {
        columns: ['path', 'min, µs', 'median, µs', 'p99, µs', 'median : one DNAT rule'],
        rows: spreads.map(({ name, min, median, p99 }) => [
          name,
          min.toFixed(1),
          median.toFixed(1),
          p99.toFixed(1),
          ratio(median).toFixed(2),
        ]),
      },
    ],
    findings: [
      `Within 10 % of a direct connection plus a plain DNAT: ${ratio(ours?.median ?? NaN) <= limit ? 'met' : '**missed**'} (${ratio(ours?.median ?? NaN).toFixed(2)} times the median of one DNAT rule).`,
      ...(ours === undefined || peers === undefined
        ? []
        : [`Fairlead : kube-proxy: ${(ours.median / peers.median).toFixed(2)} in the median.`]),
    ],
  }
}
