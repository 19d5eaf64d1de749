/** `fairlead render`: prints what a mode would program for the objects in files, without root and without a cluster. */
import { isGateOn } from '../config/feature-gates.ts'
import { inGroup } from '../config/flags/flag.ts'
import { renderFlagHelp } from '../config/flags/flag-help.ts'
import { parseFlags } from '../config/flags/flag-set.ts'
import * as type from '../config/flags/flag-types.ts'
import { strictSourceRangesHelp } from '../config/daemon/fairlead-flags.ts'
import { Catalog } from '../core/catalog.ts'
import { nodeIps } from '../core/node/node-ips.ts'
import { silentMetrics } from '../core/proxy-metrics.ts'
import { RouteTable } from '../core/routing/route-table.ts'
import { usualPolicy } from '../core/routing/serving-policy.ts'
import { ToldNotices } from '../core/routing/told-notices.ts'
import { families } from '../net/ip.ts'
import type { Family } from '../net/ip.ts'
import { objectKey } from '../api/records.ts'
import { FileSource } from '../sources/file/file-source.ts'
import { Intake } from '../sources/intake.ts'
import { parseDaemonCommandLine } from '../config/daemon/parse-daemon-command-line.ts'
import type { ProxyConfig } from '../config/proxy-config.ts'
import { loadConfig } from './daemon/load-config.ts'
import { expandPrimary } from '../core/node/node-port-addresses.ts'
import type { Host } from './host/host.ts'
import { findMode } from './modes/find-mode.ts'
import type { ModeSettings } from './modes/mode.ts'
import { CommandError } from './program.ts'
import type { Program } from './program.ts'
import { plainLogger } from './plain-logger.ts'

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
  const config = await configOf(values, host)
  const mode = await findMode(config.mode)
  const wantedFamilies = familiesNamed(values.family)

  using progress = program.progress('reading objects')
  const log = plainLogger(program)
  const catalog = new Catalog()
  const intake = new Intake({ catalog, log, metrics: silentMetrics })
  const source = new FileSource({ paths: values.objects, intake, log, clock: host.clock })
  const [problem] = await source.load()
  if (problem !== undefined) throw new CommandError(problem)

  const nodeName = values['node-name'] || config.hostnameOverride || host.hostname().toLowerCase()
  const node = catalog.nodes.get(objectKey({ name: nodeName }))
  const given = values['node-address']
  const { ips } = nodeIps({ ips: given.length > 0 ? given : (node?.ips ?? []), bindAddress: config.bindAddress })
  const settings: ModeSettings = {
    config,
    nodePortAddresses: expandPrimary(config.nodePortAddresses, ips),
    podCIDRs: node?.podCIDRs ?? [],
    localIps: () => ['127.0.0.1', '::1', ...(given.length > 0 ? given : (node?.ips ?? []))],
  }
  const allowExternalIPs = isGateOn(config.featureGates, 'AllowServiceExternalIPs')
  const notices = new ToldNotices({ log, metrics: silentMetrics, onNotice() {} })
  const needs = new Set<string>()
  const sections: { readonly title: string; readonly text: string }[] = []
  for (const family of wantedFamilies) {
    progress.step(`rendering ${family}`)
    const table = new RouteTable({
      catalog,
      family,
      nodeName,
      nodeIP: ips[family],
      policy: { ...usualPolicy, allowExternalIPs, strictSourceRanges: values['strict-source-ranges'] },
      notices,
      metrics: silentMetrics,
      startedAtMs: 0,
    })
    const parts = mode.render(table.take({ full: true }).view, settings)
    const chosen = values.part === '' ? parts : parts.filter(({ part }) => part === values.part)
    if (chosen.length === 0) {
      const known = parts.map(({ part }) => part).join(', ')
      throw new CommandError(`mode ${mode.name} has no part "${values.part}": choose --part from ${known}`)
    }
    for (const part of chosen) {
      sections.push({ title: `${family}, part ${part.part}`, text: part.text })
      for (const command of part.needs ?? []) needs.add(command)
    }
  }
  progress[Symbol.dispose]()
  // One alone is what its tool reads, to the byte; several need a line between them, which every tool takes as a comment.
  for (const { title, text } of sections) program.out(sections.length === 1 ? text : `# ${title}\n${text}`)
  if (needs.size > 0) program.err(`note: before you load this, run (unless already done): ${[...needs].join('; ')}\n`)
  return 0
}

/** The file's settings, but the mode of the command line: one file can be rendered for every mode. */
async function configOf(
  values: { readonly config: string; readonly 'proxy-mode': string },
  host: Host,
): Promise<ProxyConfig> {
  const mode = values['proxy-mode']
  const parsed = parseDaemonCommandLine([`--config=${values.config}`, `--proxy-mode=${mode}`], host.platform)
  if (parsed.kind !== 'run') throw new CommandError(`--config=${values.config} cannot be used`)
  const { config } = await loadConfig(parsed.options, host, mode === '' ? undefined : mode)
  return config
}

function familiesNamed(name: string): readonly Family[] {
  if (name === '') return families
  const family = families.find((known) => known === name)
  if (family === undefined) throw new CommandError(`--family="${name}" is unknown: use ipv4 or ipv6, or leave it out`)
  return [family]
}
