/** fairlead(8), from the tables that the program itself reads its flags by. */
import { commandShapes, daemonShape } from '../../src/cli/completion/command-shapes.ts'
import type { CommandShape } from '../../src/cli/completion/command-shapes.ts'
import { flagsOn } from '../../src/config/flags/flag.ts'
import type { Flag } from '../../src/config/flags/flag.ts'

export function manPage(version: string, epoch: number): string {
  const date = new Date(epoch * 1000).toISOString().slice(0, 10)
  const commands = [...commandShapes].toSorted(([left], [right]) => (left < right ? -1 : 1))
  return `${[
    `.TH FAIRLEAD 8 ${date} ${quoted(`Fairlead ${version}`)} "System Administration"`,
    // Flags are long words: with both edges even, the gaps between them would be, too.
    '.ad l',
    '.SH NAME',
    String.raw`fairlead \- service proxy of a Kubernetes node`,
    '.SH SYNOPSIS',
    '.B fairlead',
    '.RI [ flags ]',
    '.br',
    '.B fairlead',
    '.I command',
    '.RI [ flags ]',
    '.SH DESCRIPTION',
    text(
      'Fairlead watches Services and EndpointSlices and makes every Service address reach a healthy endpoint. It takes the place of kube-proxy: it has the same flags, configuration file, health and metrics endpoints. Without a command it is the proxy itself, until it is told to end.',
    ),
    '.SH COMMANDS',
    ...commands.flatMap(([name, { about }]) => ['.TP', `.B ${text(name)}`, text(`${about}.`)]),
    '.PP',
    text('"fairlead help COMMAND" tells more about each.'),
    '.SH FLAGS',
    ...groupsOf(daemonShape, '.SS'),
    ...commands.flatMap(([name, shape]) => commandSection(name, shape)),
    '.SH FILES',
    ...files.flatMap(([path, about]) => ['.TP', `.I ${text(path)}`, text(about)]),
    '.SH EXIT STATUS',
    text(
      '0 after an orderly end, 1 after an error, which stderr tells in one sentence. Commands that differ say so in their help.',
    ),
    '.SH SIGNALS',
    text(
      'SIGTERM and SIGINT ask for an orderly end; a second one ends at once. SIGHUP makes the proxy read its configuration file again. Rules stay in the kernel, so that Services go on working: "fairlead --cleanup" removes them.',
    ),
    '.SH SEE ALSO',
    String.raw`.BR nft (8),`,
    String.raw`.BR iptables (8),`,
    String.raw`.BR ipvsadm (8),`,
    String.raw`.BR systemctl (1)`,
    '.PP',
    '.UR https://github.com/fairlead/fairlead',
    'Fairlead',
    '.UE',
  ].join('\n')}\n`
}

const files = [
  ['/etc/fairlead/config.yaml', 'The configuration: a KubeProxyConfiguration.'],
  ['/etc/default/fairlead', 'The flags that fairlead.service runs it with.'],
  ['/usr/share/doc/fairlead', 'The pages that messages name, such as docs/upgrade.md, with manifests and examples.'],
  ['/var/lib/fairlead', 'For --state-dir, so that a node can start while the API server is away.'],
] as const

function commandSection(name: string, shape: CommandShape): readonly string[] {
  const arguments_ = shape.words.length === 0 ? '' : ` ${shape.words.join('|')}`
  return [
    `.SH ${quoted(`fairlead ${name}`.toUpperCase())}`,
    `.B ${text(`fairlead ${name}${arguments_} [flags]`)}`,
    '.PP',
    text(`${shape.about}.`),
    ...(shape.hasDaemonFlags ? ['.PP', text('Flags of the proxy work here too.')] : []),
    ...groupsOf(shape, '.SS'),
  ]
}

/** Under the same headings as in the help; also what only other systems have, and what is deprecated, is left out there. */
function groupsOf({ flags }: CommandShape, heading: string): readonly string[] {
  const shown = flagsOn(flags, 'linux').filter(([, flag]) => flag.deprecated === undefined)
  return [...new Set(shown.map(([, { group }]) => group))].flatMap((group) => [
    `${heading} ${quoted(group)}`,
    ...shown.filter(([, flag]) => flag.group === group).flatMap(([name, flag]) => flagLines(name, flag)),
  ])
}

function flagLines(name: string, { short, type, help, default: value }: Flag<unknown>): readonly string[] {
  const label = type.alone === undefined ? `=${type.label}` : ''
  const letter = short === undefined ? '' : `-${short}, `
  const rendered = type.render(value)
  const preset = ['', '0', '0s', 'false', '[]'].includes(rendered) ? '' : ` Default: ${rendered}.`
  return ['.TP', `.B ${text(`${letter}--${name}${label}`)}`, text(`${help}${preset}`)]
}

/** A hyphen of a flag is a minus, so that it can be copied. */
function text(plain: string): string {
  return plain
    .replaceAll('\\', String.raw`\e`)
    .replaceAll('-', String.raw`\-`)
    .replace(/^(?=[.'])/, String.raw`\&`)
    .replaceAll('…', '...')
}

function quoted(plain: string): string {
  return `"${text(plain).replaceAll('"', String.raw`\(dq`)}"`
}
