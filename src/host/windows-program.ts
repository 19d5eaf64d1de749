/** How Windows finds and starts a program whose name may lack its ending, and which may be a batch file. */
import { win32 } from 'node:path'
import { findProgram, lookAt } from './find-program.ts'
import type { Look, Whereabouts } from './find-program.ts'

export interface ProgramStart {
  readonly file: string
  readonly args: readonly string[]
  /** The arguments are a command line already. */
  readonly windowsVerbatimArguments: boolean
}

/** What Windows starts without being told by what. */
const endings = ['.com', '.exe', '.bat', '.cmd']

/** Not in the current folder, where Windows itself would look first: what lies there would run as an administrator. */
export function findWindowsProgram(program: string, path: string | undefined, look: Look = lookAt): Whereabouts {
  const isComplete = endings.includes(win32.extname(program).toLowerCase())
  const folders = (path ?? '').split(win32.delimiter).filter((folder) => folder !== '' && folder !== '.')
  return findProgram(program, folders.join(win32.delimiter), look, win32, isComplete ? [''] : [...endings, ''])
}

/** Node.js refuses to start a batch file, because the command interpreter reads its arguments in a way of its own. */
export function windowsStart(file: string, args: readonly string[], env: NodeJS.ProcessEnv): ProgramStart {
  if (!/\.(?:bat|cmd)$/i.test(file)) return { file, args, windowsVerbatimArguments: false }
  const line = [`"${file}"`, ...args.map(batchArgument)].join(' ')
  const interpreter = win32.join(windowsVariable(env, 'SystemRoot') ?? 'C:\\Windows', 'System32', 'cmd.exe')
  // No AutoRun commands of the user, extensions on (`%cd:~,%` needs them), `!` means nothing, and the outer quotes go.
  const flags = ['/d', '/e:on', '/v:off', '/s', '/c']
  return { file: interpreter, args: [...flags, `"${line}"`], windowsVerbatimArguments: true }
}

/** Their names are the same in upper and lower case. Node.js sees to that in `process.env`, but not in a copy of it. */
export function windowsVariable(env: NodeJS.ProcessEnv, name: string): string | undefined {
  return Object.entries(env).find(([key]) => isSameName(key, name))?.[1]
}

/** The second wins, also over a variable whose name is written in another case. */
export function mergeWindowsVariables(
  base: NodeJS.ProcessEnv,
  more: Readonly<Record<string, string>>,
): NodeJS.ProcessEnv {
  const names = Object.keys(more)
  const kept = Object.entries(base).filter(([key]) => !names.some((name) => isSameName(key, name)))
  return { ...Object.fromEntries(kept), ...more }
}

function isSameName(one: string, other: string): boolean {
  return one.toUpperCase() === other.toUpperCase()
}

function batchArgument(arg: string): string {
  if (/[\0\r\n]/.test(arg)) throw new Error('a batch file cannot take an argument with a line break')
  if (/^[\w#$*+\-./:?@\\]*[\w#$*+\-./:?@]$/.test(arg)) return arg
  const quoted = arg
    .replaceAll(/(\\*)"/g, '$1$1""')
    .replace(/\\+$/, '$&$&')
    // Between quotes, too, `%NAME%` would be replaced. An empty part of a variable in between leaves a bare `%`.
    .replaceAll('%', '%%cd:~,%')
  return `"${quoted}"`
}
