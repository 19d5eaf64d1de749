/** Every command with its flags, for what describes the command line: completions, and the manual. */
import { daemonFlags } from '../../config/daemon/daemon-flags.ts'
import { flagsOn } from '../../config/flags/flag.ts'
import type { Flag, FlagTable } from '../../config/flags/flag.ts'
import { modesOn } from '../../config/platform.ts'
import { detectLocalModes } from '../../config/validation/address-rules.ts'
import { debugFlags, debugPageNames } from '../debug/debug-command.ts'
import { demoFlags } from '../demo/demo-command.ts'
import { doctorFlags } from '../doctor/doctor-command.ts'
import { explainFlags } from '../explain/explain-command.ts'
import { aboutBySource, kpngFlags } from '../kpng/kpng-command.ts'
import { sinkNames } from '../kpng/sinks.ts'
import type { KpngSource } from '../kpng/to-mode.ts'
import type { CommandName } from '../main.ts'
import { migrateFlags } from '../migrate/migrate-command.ts'
import { renderFlags } from '../render-command.ts'
import { socketsFlags } from '../sockets/sockets-command.ts'
import { topFlags } from '../top/top-command.ts'
import { traceFlags } from '../trace/trace-command.ts'
import { shells } from './shells.ts'

export interface CommandShape {
  /** A sentence, without its full stop. */
  readonly about: string
  readonly flags: FlagTable
  /** It takes the flags of the daemon, too. */
  readonly hasDaemonFlags: boolean
  /** What may come as its argument, where that can be listed. */
  readonly words: readonly string[]
}

const own = (about: string, flags: FlagTable, words: readonly string[] = []): CommandShape => ({
  about,
  flags,
  hasDaemonFlags: false,
  words,
})

const kpng = (source: KpngSource): CommandShape => ({
  about: aboutBySource[source].replace(/\.$/, ''),
  flags: kpngFlags(source),
  hasDaemonFlags: true,
  words: sinkNames,
})

/** A command that is missing here does not compile. */
const shapes: Readonly<Record<CommandName, CommandShape>> = {
  api: kpng('api'),
  completion: own('Prints the completions of a shell', {}, shells),
  debug: own('Prints a debug page of a running proxy', debugFlags, debugPageNames),
  demo: own('Runs a sample application here: no root, no cluster', demoFlags),
  doctor: { ...own('Finds what keeps Services from working on this node', doctorFlags), hasDaemonFlags: true },
  explain: own('Says what becomes of a connection, and why', explainFlags),
  file: kpng('file'),
  kube: kpng('kube'),
  local: kpng('local'),
  migrate: own('Says what differs from a kube-proxy, and the way back', migrateFlags),
  render: own('Prints what a mode would program: no root, no cluster', renderFlags),
  sockets: own('Shows what the ebpf mode has put into the kernel', socketsFlags),
  top: own('Shows what Services carry, live', topFlags),
  trace: own('Shows what the last syncs of a running proxy did', traceFlags, ['start']),
}

export const commandShapes: ReadonlyMap<string, CommandShape> = new Map(Object.entries(shapes))

/** The command without a name. */
export const daemonShape: CommandShape = own('Runs the proxy', daemonFlags)

export interface ShownFlag {
  readonly name: string
  readonly short: string | undefined
  readonly help: string
  /** What the value is called; undefined where there is none. */
  readonly label: string | undefined
  /** The values, where they can be listed. */
  readonly words: readonly string[]
}

/** Those to offer somebody, on Linux: not the deprecated ones. */
export function shownFlags(shape: CommandShape): readonly ShownFlag[] {
  const table = shape.hasDaemonFlags ? { ...daemonFlags, ...shape.flags } : shape.flags
  const shown = flagsOn(table, 'linux').filter(([, flag]) => flag.deprecated === undefined)
  return [...shown.map(([name, flag]) => shownFlag(name, flag)), helpFlag]
}

const helpFlag: ShownFlag = { name: 'help', short: 'h', help: 'Print help and exit.', label: undefined, words: [] }

function shownFlag(name: string, { help, short, type }: Flag<unknown>): ShownFlag {
  const words = (type.words ?? wordsByFlag[name] ?? []).filter((word) => word !== '')
  return { name, short, help, label: type.alone === undefined ? type.label : undefined, words }
}

/** Flags whose values are checked elsewhere, as the field of the configuration file that they stand for is. */
const wordsByFlag: Readonly<Record<string, readonly string[]>> = {
  'proxy-mode': modesOn('linux'),
  'detect-local-mode': detectLocalModes,
  'logging-format': ['text', 'json'],
  family: ['ipv4', 'ipv6'],
}
