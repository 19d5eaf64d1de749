/** Whether Fairlead would take a command line, asked of its own parsers. */
import { doctorCommand } from '../../src/cli/doctor/doctor-command.ts'
import { kpngCommand } from '../../src/cli/kpng/kpng-command.ts'
import { apiFlags, behindApiFlags } from '../../src/cli/kpng/kpng-flags.ts'
import { splitFlags } from '../../src/cli/split-flags.ts'
import { checkSink, modeOfSink } from '../../src/cli/kpng/sinks.ts'
import { memoryHost, memoryProgram } from '../../src/cli/host/testing/memory-host.ts'
import { renderCommand } from '../../src/cli/render-command.ts'
import { parseDaemonCommandLine } from '../../src/config/daemon/parse-daemon-command-line.ts'
import { parseFlags } from '../../src/config/flags/flag-set.ts'
import { parseApiTarget } from '../../src/kpng/client/api-target.ts'
import { parseBindSpec } from '../../src/kpng/server/bind-spec.ts'

/** Why a command line would be refused; undefined if it would not. Without the program's own name. */
export async function refusalOf(words: readonly string[], platform: NodeJS.Platform): Promise<string | undefined> {
  try {
    await check(words, platform)
    return undefined
  } catch (error) {
    return `${words.join(' ')}: ${(error as Error).message}`
  }
}

export function refusalOnWindows(words: readonly string[]): Promise<string | undefined> {
  return refusalOf(words, 'win32')
}

async function check(words: readonly string[], platform: NodeJS.Platform): Promise<void> {
  const [command = '', ...rest] = words
  const program = memoryProgram(memoryHost({ platform }))
  const signal = AbortSignal.timeout(10_000)
  switch (command) {
    case 'render':
      await renderCommand([...rest, '--help'], program)
      return
    case 'doctor':
      await doctorCommand([...rest, '--help'], program, signal)
      return
    case 'kube':
    case 'file':
    case 'api':
    case 'local': {
      const sink = rest.find((word) => word.startsWith('to-'))
      checkSink(sink)
      checkAddresses(rest, platform)
      // Flags are checked before the help is printed, and nothing is started.
      if (modeOfSink(sink) === undefined) await kpngCommand(command)([...rest, '--help'], program, signal)
      else
        checkMode(
          rest.filter((word) => word !== sink),
          platform,
        )
      return
    }
    default:
      checkDaemon(words, platform)
  }
}

function checkMode(flags: readonly string[], platform: NodeJS.Platform): void {
  const table = { ...apiFlags, ...behindApiFlags }
  const { own, others } = splitFlags(table, flags)
  const read = parseFlags(table, own, platform)
  if (!read.ok) throw new Error(read.problem)
  checkDaemon(others, platform)
}

function checkDaemon(flags: readonly string[], platform: NodeJS.Platform): void {
  const parsed = parseDaemonCommandLine(flags, platform)
  if (parsed.kind === 'refused') throw new Error(parsed.message)
}

function checkAddresses(flags: readonly string[], platform: NodeJS.Platform): void {
  for (const flag of flags) {
    const [, name, value = ''] = /^--(listen|api)=(.*)$/.exec(flag) ?? []
    if (name === 'listen') parseBindSpec(value, platform)
    if (name === 'api') parseApiTarget(value, platform)
  }
}
