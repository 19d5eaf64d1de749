/** What connections cost that say nothing. */
import type { BenchOptions, BenchSection } from '../bench-group.ts'
import { startEndpoint, startLoad, type RelayProgram } from './relay-programs.ts'

/** io.Copy holds two pipes per connection: six descriptors with the sockets. Ours and HAProxy's hold two. */
const descriptorsPerConnection = 6
const most = 10_000

export async function idleConnections(programs: readonly RelayProgram[], options: BenchOptions): Promise<BenchSection> {
  const rows: string[][] = []
  let count = most
  for (const program of programs) {
    if (program.name === 'direct') continue
    options.progress(`idle connections through ${program.name}`)
    await using endpoint = await startEndpoint()
    await using relay = await program.start(endpoint.port)
    if (relay.process === undefined) continue
    count = Math.min(most, Math.floor((relay.process.descriptorLimit - 500) / descriptorsPerConnection))
    const before = relay.process.residentMb
    await using clients = startLoad(relay.port, 'idle', count, 0)
    const { open, failures } = await clients.nextLine<{ open: number; failures: number }>()
    const after = relay.process.residentMb
    const each = ((after - before) * 1000) / open
    rows.push([
      program.name,
      `${open}${failures > 0 ? ` (${failures} failed)` : ''}`,
      before.toFixed(0),
      after.toFixed(0),
      each.toFixed(1),
      (before + (each * most) / 1000).toFixed(0),
    ])
  }
  return {
    title: 'Idle connections',
    about: [
      `Resident memory of the relay before and with idle connections that have carried one request each.`,
      `This machine's limit of open files allows the Go relay ${count.toLocaleString('en')} of them; the last column is the memory of ${most.toLocaleString('en')}, worked out from that. One run.`,
    ].join(' '),
    tables: [
      {
        columns: ['', 'connections', 'before, MB', 'with them, MB', 'each, kB', `${most.toLocaleString('en')}, MB`],
        rows,
      },
    ],
    findings: [],
  }
}
