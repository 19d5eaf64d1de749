/** `fairlead debug`: a page of a running proxy as it is, for what has no command of its own. */
import { inGroup } from '../../config/flags/flag.ts'
import { renderFlagHelp } from '../../config/flags/flag-help.ts'
import { parseFlags } from '../../config/flags/flag-set.ts'
import { askForJson } from '../ask/ask-daemon.ts'
import { askFlags } from '../ask/ask-flags.ts'
import { CommandError } from '../program.ts'
import type { Program } from '../program.ts'

export const debugFlags = inGroup('Debug', { server: askFlags.server })

/** Those that every proxy has and that need nothing more. */
export const debugPageNames = ['view', 'rules', 'drift', 'syncs', 'traffic', 'doctor'] as const

const about = `Prints a debug page of a running proxy, as /debug/PAGE of its metrics port gives it.

Usage:
  fairlead debug [flags]                    Which pages there are, and what they take
  fairlead debug PAGE [NAME=VALUE…] [flags] One of them

  fairlead debug view namespace=shop        What this node proxies
  fairlead debug services/shop/web          All about one Service
  fairlead debug rules service=shop/web     What is programmed; actual=1 compares it with what is there
  fairlead debug drift now=1                What others changed; now=1 compares everything now
`

export async function debugCommand(argv: readonly string[], program: Program, signal: AbortSignal): Promise<number> {
  const { host, stdout } = program
  const read = parseFlags(debugFlags, argv, host.platform)
  if (!read.ok) throw new CommandError(`${read.problem} (see fairlead debug --help)`)
  if (read.wantsHelp) {
    program.out(`${about}\n${renderFlagHelp(debugFlags, host.platform, stdout.columns)}`)
    return 0
  }
  const [page = '', ...asked] = read.positionals
  const path = `/debug/${page.replace(/^\/?(?:debug\/)?/, '')}`
  const answer = await askForJson(path, queryOf(asked), { server: read.values.server, host }, signal)
  program.out(typeof answer === 'string' ? answer : `${JSON.stringify(answer, undefined, 2)}\n`)
  return 0
}

function queryOf(asked: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    asked.map((text) => {
      const [, name, value] = /^(\w+)=(.*)$/s.exec(text) ?? []
      if (name === undefined || value === undefined)
        throw new CommandError(`"${text}" is no question to a page: write NAME=VALUE, as in namespace=shop`)
      return [name, value]
    }),
  )
}
