/** `fairlead sockets`: what the ebpf mode has put into the kernel, read from its pins. No proxy has to run. */
import { join } from 'node:path'
import { decodeConfig, layoutVersion, mapSpecs } from '../../backends/ebpf/layout.ts'
import type { MapName } from '../../backends/ebpf/layout.ts'
import type { SocketMaps } from '../../backends/ebpf/found-tables.ts'
import { listTables } from '../../backends/ebpf/list-tables.ts'
import type { ListedFrontend, ListedTables } from '../../backends/ebpf/list-tables.ts'
import { ebpfFlags } from '../../config/daemon/ebpf-flags.ts'
import { inGroup } from '../../config/flags/flag.ts'
import { renderFlagHelp } from '../../config/flags/flag-help.ts'
import { parseFlags } from '../../config/flags/flag-set.ts'
import * as type from '../../config/flags/flag-types.ts'
import { BpfError } from '../../dataplane/ebpf/bpf-error.ts'
import type { Bpf, BpfMap } from '../../dataplane/ebpf/bpf.ts'
import { CommandError } from '../program.ts'
import type { Program } from '../program.ts'

export const socketsFlags = inGroup('Sockets', {
  'ebpf-pins': ebpfFlags['ebpf-pins'],
  filter: { type: type.text, default: '', help: 'Only lines with this in them, such as an address or a port.' },
  output: { type: type.oneOf(['text', 'json']), short: 'o', default: 'text' as const, help: 'text or json.' },
})

const about = `Shows what the ebpf mode has put into the kernel: each address and port of a Service, who is chosen from, and how
often; and the addresses of the node at which the programs open node ports. Counts are of the Service port: its
addresses and its node port share them. It is read from the pins, so no proxy has to run. Needs root.
`

export async function socketsCommand(argv: readonly string[], program: Program): Promise<number> {
  const { host } = program
  const read = parseFlags(socketsFlags, argv, host.platform)
  if (!read.ok) throw new CommandError(read.problem)
  if (read.wantsHelp) {
    const help = renderFlagHelp(socketsFlags, host.platform, program.stdout.columns)
    program.out(`${about}\nUsage:\n  fairlead sockets [flags]\n\n${help}`)
    return 0
  }
  const { 'ebpf-pins': pins, filter, output } = read.values
  const { tables, leaseUntil } = await readPinned(host.openBpf(), pins)
  if (leaseUntil < host.process.monotonicNs()) program.err(leaseIsOver)
  const frontends = tables.frontends.filter((one) => lineOf(one).includes(filter))
  if (output === 'json') program.out(`${JSON.stringify({ ...tables, frontends }, null, 2)}\n`)
  else
    for (const line of [addressLine(tables), ...frontends.map(lineOf)])
      if (line.includes(filter)) program.out(`${line}\n`)
  return 0
}

const leaseIsOver =
  'Note: the lease is over, so the programs leave everything to nftables: no Fairlead looks after them.\n'

/** `node-port addresses: 192.0.2.11 fd00::11` */
function addressLine({ nodePortAddresses: ips }: ListedTables): string {
  return `node-port addresses: ${ips.length === 0 ? 'none' : ips.join(' ')}`
}

/** `10.96.0.10:80/TCP internal connections=5 -> 10.64.1.16:8080 10.64.2.9:8080` */
function lineOf({ at, list, endpoints, affinitySeconds, algorithm, ...counts }: ListedFrontend): string {
  const { connections, refused, passed } = counts
  return [
    at,
    list,
    `connections=${connections}`,
    ...(refused > 0 ? [`refused=${refused}`] : []),
    ...(passed > 0 ? [`passed=${passed}`] : []),
    ...(affinitySeconds > 0 ? [`affinity=${affinitySeconds}s`] : []),
    ...(algorithm === 'random' ? [] : [algorithm]),
    '->',
    ...endpoints,
  ].join(' ')
}

interface Pinned {
  readonly tables: ListedTables
  /** By the clock of the programs. */
  readonly leaseUntil: bigint
}

async function readPinned(opening: Promise<Bpf>, pins: string): Promise<Pinned> {
  const opened: BpfMap[] = []
  try {
    const bpf = await opening
    const maps: Partial<Record<MapName, BpfMap>> = {}
    for (const name of Object.keys(mapSpecs) as MapName[]) {
      const map = await bpf.openMap(join(pins, String(layoutVersion), 'maps', name))
      if (map === undefined)
        throw new CommandError(`nothing is pinned in ${pins}: the ebpf mode has not run here, or give its --ebpf-pins`)
      opened.push(map)
      maps[name] = map
    }
    const all = maps as SocketMaps
    return { tables: await listTables(all), leaseUntil: decodeConfig(all.config.bytes).leaseUntil }
  } catch (error) {
    if (error instanceof BpfError) throw new CommandError(error.message, { cause: error })
    throw error
  } finally {
    for (const map of opened) map[Symbol.dispose]()
  }
}
