/** `… to-nftables` and the like: the daemon itself, with another source. */
import { parseFlags } from '../../config/flags/flag-set.ts'
import { systemClock } from '../../core/clock.ts'
import { daemonCommand } from '../daemon/daemon-command.ts'
import { CommandError } from '../program.ts'
import type { Program } from '../program.ts'
import { apiFlags, fileFlags, nodeFlags } from './kpng-flags.ts'
import { nodeNameFrom } from './local-feed.ts'
import { machineAddresses } from './machine-addresses.ts'
import { splitFlags } from './own-flags.ts'
import { watchClientFor } from './watch-client-for.ts'

/** Where the state of the cluster comes from. */
export type KpngSource = 'kube' | 'file' | 'api' | 'local'

/** KPNG's names for them too. */
const modeBySink: ReadonlyMap<string, string> = new Map([
  ['to-nftables', 'nftables'],
  ['to-nft', 'nftables'],
  ['to-iptables', 'iptables'],
  ['to-ipvs', 'ipvs'],
  ['to-userspace', 'userspace'],
  ['to-userspacelin', 'userspace'],
])

export function modeOfSink(sink: string): string | undefined {
  return modeBySink.get(sink)
}

export interface ModeCommand {
  readonly source: KpngSource
  readonly mode: string
  readonly argv: readonly string[]
}

/** All flags of the daemon work; those of the source are taken out first. */
export async function runMode(line: ModeCommand, program: Program, signal: AbortSignal): Promise<number> {
  const { source, mode } = line
  const table = source === 'file' ? { ...fileFlags, ...nodeFlags } : { ...apiFlags, ...nodeFlags }
  const { own, others } = source === 'kube' ? splitFlags(nodeFlags, line.argv) : splitFlags(table, line.argv)
  const read = parseFlags({ ...apiFlags, ...fileFlags, ...nodeFlags }, own, program.platform)
  if (!read.ok) throw new CommandError(read.problem)
  const { values } = read
  const node = values['node-name'] === '' ? [] : [`--hostname-override=${values['node-name']}`]
  const argv = [...others, ...node, `--proxy-mode=${mode}`]
  switch (source) {
    case 'kube':
      return daemonCommand(argv, program, signal)
    case 'file':
      return daemonCommand([...argv, ...values.input.map((path) => `--objects=${path}`)], program, signal)
    case 'api':
    case 'local':
      return daemonCommand([...argv, ...nodeFlagsFor(values['node-name'], others, program)], program, signal, {
        api: { client: (log) => watchClientFor(values, { clock: systemClock, log }), target: values.api },
      })
    default:
      return source satisfies never
  }
}

/** A KPNG server knows neither; the machine has to. */
function nodeFlagsFor(nodeName: string, given: readonly string[], program: Program): readonly string[] {
  const hasName = given.some((flag) => flag.startsWith('--hostname-override'))
  const hasAddress = given.some((flag) => flag.startsWith('--node-address'))
  return [
    ...(hasName ? [] : [`--hostname-override=${nodeNameFrom(nodeName, program.env)}`]),
    ...(hasAddress ? [] : machineAddresses().map((address) => `--node-address=${address}`)),
  ]
}
