/** `fairlead render`: prints what a mode would program for the objects in files, without root and without a cluster. */
import { strictSourceRangesHelp } from '../config/daemon/fairlead-flags.ts'
import { parseDaemonCommandLine } from '../config/daemon/parse-daemon-command-line.ts'
import { completeOptions } from '../config/daemon/complete-options.ts'
import { inGroup } from '../config/flags/flag.ts'
import { renderFlagHelp } from '../config/flags/flag-help.ts'
import { parseFlags } from '../config/flags/flag-set.ts'
import * as type from '../config/flags/flag-types.ts'
import { systemOf } from '../config/platform.ts'
import type { ProxyConfig } from '../config/proxy-config.ts'
import { families, type Family } from '../net/ip.ts'
import { loadConfig } from './daemon/load-config.ts'
import type { Host } from './host/host.ts'
import { findMode } from './modes/find-mode.ts'
import { plainLogger } from './plain-logger.ts'
import { CommandError, type Program } from './program.ts'
import { renderObjects, type RenderRequest, type Section } from './render-objects.ts'

const renderFlags = inGroup('Render', {
  'proxy-mode': { type: type.text, default: '', help: 'The mode whose rules to print.' },
  objects: {
    type: type.strings,
    default: [] as readonly string[],
    help: 'Files or directories of Kubernetes objects, or - for standard input. Repeatable.',
  },
  config: { type: type.text, default: '', help: 'A KubeProxyConfiguration file.' },
  'node-name': { type: type.text, default: '', help: 'The node to render for. Empty: the host name.' },
  'node-address': {
    type: type.ips,
    default: [] as readonly string[],
    help: "The node's IP addresses, instead of those of its Node object. Repeatable.",
  },
  'strict-source-ranges': { type: type.bool, default: false, help: strictSourceRangesHelp },
  family: { type: type.text, default: '', help: 'Only ipv4 or only ipv6. Empty: both.' },
  'hns-network-type': {
    type: type.oneOf(['auto', 'L2Bridge', 'Overlay']),
    default: 'auto',
    help: 'In kernelspace mode, the type of the HNS network: L2Bridge, Overlay, or auto (Overlay if winkernel.sourceVip is set).',
  },
  part: { type: type.text, default: '', help: 'Only this part, for modes with several parts.' },
})

const usage = 'Usage:\n  fairlead render --proxy-mode=MODE --objects=PATH [flags]\n'

export async function renderCommand(argv: readonly string[], program: Program): Promise<number> {
  const { host } = program
  const read = parseFlags(renderFlags, argv, host.platform)
  if (!read.ok) throw new CommandError(read.problem)
  if (read.wantsHelp) {
    const about = 'Prints what a proxy mode would program, without root and without a cluster.'
    program.out(`${about}\n\n${usage}\n${renderFlagHelp(renderFlags, host.platform, program.stdout.columns)}`)
    return 0
  }
  const { values } = read
  if (read.positionals.length > 0)
    throw new CommandError(`render takes no argument "${read.positionals[0]}": give files with --objects=PATH`)
  if (values.objects.length === 0) throw new CommandError('render needs objects: give --objects=FILE_OR_DIRECTORY')
  const { config, platform } = await configOf(values, host)
  const mode = await findMode(config.mode, platform)
  const request: RenderRequest = {
    mode,
    config,
    objects: values.objects,
    nodeName: values['node-name'] || config.hostnameOverride || host.hostname().toLowerCase(),
    nodeAddresses: values['node-address'],
    strictSourceRanges: values['strict-source-ranges'],
    families: familiesNamed(values.family),
    part: values.part,
    hnsNetworkType: values['hns-network-type'],
  }

  using progress = program.progress('reading objects')
  const onFamily = (family: Family) => progress.step(`rendering ${family}`)
  const sections = await renderObjects(request, { host, log: plainLogger(program), onFamily })
  progress[Symbol.dispose]()
  print(sections, program)
  return 0
}

/** The file's settings, but the mode of the command line: one file can be rendered for every mode. */
async function configOf(
  values: { readonly config: string; readonly 'proxy-mode': string },
  host: Host,
): Promise<{ readonly config: ProxyConfig; readonly platform: NodeJS.Platform }> {
  const flag = values['proxy-mode']
  const parsed = parseDaemonCommandLine([`--config=${values.config}`, `--proxy-mode=${flag}`], host.platform)
  if (parsed.kind !== 'run') throw new CommandError(`--config=${values.config} cannot be used`)
  const override = flag === '' ? undefined : flag
  const configFile = host.findFile(values.config)
  const completed = await completeOptions({ ...parsed.options, configFile }, host, override)
  // Only to print a plan, it need not be the system of this machine.
  const platform = (completed.ok ? systemOf(completed.config.mode) : undefined) ?? host.platform
  const { findFile } = host
  const readTextFile = (path: string) => host.readTextFile(path)
  const { config } = await loadConfig(parsed.options, { platform, findFile, readTextFile }, override)
  return { config, platform }
}

function familiesNamed(name: string): readonly Family[] {
  if (name === '') return families
  const family = families.find((known) => known === name)
  if (family === undefined) throw new CommandError(`--family="${name}" is unknown: use ipv4 or ipv6, or leave it out`)
  return [family]
}

function print(sections: readonly Section[], program: Program): void {
  // One alone is what its tool reads, to the byte; several need a line between them, which every tool takes as a comment.
  for (const { title, text } of sections) program.out(sections.length === 1 ? text : `# ${title}\n${text}`)
  const needs = new Set(sections.flatMap((section) => section.needs))
  if (needs.size > 0) program.err(`note: before you load this, run (unless already done): ${[...needs].join('; ')}\n`)
}
