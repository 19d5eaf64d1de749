/** `fairlead render`: prints what a mode would program for the objects in files, without root and without a cluster. */
import { inGroup } from '../config/flags/flag.ts'
import { renderFlagHelp } from '../config/flags/flag-help.ts'
import { parseFlags } from '../config/flags/flag-set.ts'
import * as type from '../config/flags/flag-types.ts'
import { families, type Family } from '../net/ip.ts'
import { offlineFlags, offlineNode } from './offline/offline-flags.ts'
import { plainLogger } from './plain-logger.ts'
import { CommandError, type Program } from './program.ts'
import { renderObjects, type RenderRequest, type Section } from './render-objects.ts'

const offline = offlineFlags({
  mode: 'The mode whose rules to print.',
  node: 'The node to render for. Empty: the host name.',
})

export const renderFlags = inGroup('Render', {
  ...offline,
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
  const request: RenderRequest = {
    ...(await offlineNode(values, host)),
    objects: values.objects,
    families: familiesNamed(values.family),
    part: values.part,
  }

  using progress = program.progress('reading objects')
  const onFamily = (family: Family) => progress.step(`rendering ${family}`)
  const sections = await renderObjects(request, { host, log: plainLogger(program), onFamily })
  progress[Symbol.dispose]()
  print(sections, program)
  return 0
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
