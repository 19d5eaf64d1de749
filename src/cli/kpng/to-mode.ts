/** `… to-nftables` and the like: the daemon itself, with another source. */
import { renderFlagHelp } from '../../config/flags/flag-help.ts'
import { parseFlags } from '../../config/flags/flag-set.ts'
import type { FlagTable } from '../../config/flags/flag.ts'
import { daemonCommand } from '../daemon/daemon-command.ts'
import type { Host } from '../host/host.ts'
import { CommandError } from '../program.ts'
import type { Program } from '../program.ts'
import { parseCidr } from '../../net/ip.ts'
import type { Cidr } from '../../net/ip.ts'
import { apiFlags, behindApiFlags, fileFlags, nodeFlags } from './kpng-flags.ts'
import { translateModeFlags } from './kpng-mode-flags.ts'
import { nodeNameFrom } from './local-feed.ts'
import { machineAddresses } from './machine-addresses.ts'
import { splitFlags } from '../split-flags.ts'
import { watchClientFor } from './watch-client-for.ts'

/** Where the state of the cluster comes from. */
export type KpngSource = 'kube' | 'file' | 'api' | 'local'

export interface ModeCommand {
  readonly source: KpngSource
  readonly sink: string
  /** What the source does, for the help text. */
  readonly about: string
  readonly mode: string
  readonly argv: readonly string[]
}

/** All flags of the daemon work; those of the source are taken out first. */
export async function runMode(line: ModeCommand, program: Program, signal: AbortSignal): Promise<number> {
  const { source, mode } = line
  const table = flagsOf(source)
  if (line.argv.includes('--help') || line.argv.includes('-h')) {
    program.out(
      `${line.about}\n\nUsage:\n  fairlead ${source} ${line.sink} [flags]\n\n` +
        `${renderFlagHelp(table, program.host.platform)}\n` +
        'All flags of the daemon itself work here too: fairlead --help lists them.\n',
    )
    return 0
  }
  const translated = translateModeFlags(line.argv)
  for (const name of translated.ignored)
    program.err(`Note: --${name} of KPNG has no effect here: Fairlead's rules have another layout.\n`)
  const { own, others } = splitFlags(table, translated.argv)
  const read = parseFlags({ ...apiFlags, ...fileFlags, ...behindApiFlags }, own, program.host.platform)
  if (!read.ok) throw new CommandError(`${read.problem} (see fairlead ${source} ${line.sink} --help)`)
  const { values } = read
  const node = values['node-name'] === '' ? [] : [`--hostname-override=${values['node-name']}`]
  // With a file, the flag would be ignored, and the user told about a flag that nobody gave.
  const hasFile = others.some((flag) => /^--config(?:=|$)/.test(flag))
  const argv = [...others, ...node, ...(hasFile ? [] : [`--proxy-mode=${mode}`])]
  switch (source) {
    case 'kube':
      return daemonCommand(argv, program, signal, { mode })
    case 'file':
      return daemonCommand([...argv, ...values.input.map((path) => `--objects=${path}`)], program, signal, { mode })
    case 'api':
    case 'local':
      return daemonCommand([...argv, ...nodeFlagsFor(values['node-name'], others, program.host)], program, signal, {
        mode,
        api: {
          client: (log) => watchClientFor(values, { use: mode, host: program.host, log }),
          target: values.api,
          serviceCidrs: checkedCidrs(values['service-cidrs']),
        },
      })
    default:
      return source satisfies never
  }
}

function flagsOf(source: KpngSource): FlagTable {
  if (source === 'kube') return nodeFlags
  return source === 'file' ? { ...fileFlags, ...nodeFlags } : { ...apiFlags, ...behindApiFlags }
}

function checkedCidrs(texts: readonly string[]): readonly Cidr[] {
  return texts.map((text) => {
    const cidr = parseCidr(text)
    if (cidr !== undefined) return cidr
    throw new CommandError(`--service-cidrs=${text} is not a range of addresses, such as 10.96.0.0/12`)
  })
}

/** A KPNG server tells neither the node's name nor its addresses, so the machine is asked. */
function nodeFlagsFor(nodeName: string, given: readonly string[], host: Host): readonly string[] {
  const hasName = given.some((flag) => flag.startsWith('--hostname-override'))
  const hasAddress = given.some((flag) => flag.startsWith('--node-address'))
  return [
    ...(hasName ? [] : [`--hostname-override=${nodeNameFrom(nodeName, host)}`]),
    ...(hasAddress ? [] : machineAddresses(host.networkInterfaces()).map((address) => `--node-address=${address}`)),
  ]
}
