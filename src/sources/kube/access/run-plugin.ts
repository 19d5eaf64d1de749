/** Starts a credential plugin and returns what it prints. */
import { execFile } from 'node:child_process'
import type { ExecFileException } from 'node:child_process'
import { promisify } from 'node:util'
import { findProgram, hiddenNote, lookAt } from '../../../host/find-program.ts'
import type { Whereabouts } from '../../../host/find-program.ts'
import type { FindFile } from '../../../host/mounted-file.ts'
import {
  findWindowsProgram,
  mergeWindowsVariables,
  windowsStart,
  windowsVariable,
} from '../../../host/windows-program.ts'
import type { ProgramStart } from '../../../host/windows-program.ts'
import { KubeError } from '../kube-error.ts'
import type { ExecPluginSpec } from './kube-target.ts'

export interface PluginHost {
  readonly platform: NodeJS.Platform
  readonly env: NodeJS.ProcessEnv
  readonly findFile: FindFile
}

const timeoutMs = 60_000

/** Throws a `credentials` error. */
export async function runPlugin(spec: ExecPluginSpec, host: PluginHost): Promise<string> {
  const env = environmentOf(spec, host)
  const find = () => findPlugin(spec.command, env, host)
  try {
    return await outputOf(host.platform === 'win32' ? startOnWindows(spec, env, find()) : startElsewhere(spec), env)
  } catch (error) {
    const reason = reasonOf(error as ExecFileException, find, spec.installHint)
    throw new KubeError('credentials', `credential plugin "${spec.command}" failed: ${reason}`, { cause: error })
  }
}

function environmentOf(spec: ExecPluginSpec, { env, platform }: PluginHost): NodeJS.ProcessEnv {
  const { apiVersion, clusterInfo } = spec
  const info = { apiVersion, kind: 'ExecCredential', spec: { cluster: clusterInfo, interactive: false } }
  const variables = { ...spec.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) }
  return platform === 'win32' ? mergeWindowsVariables(env, variables) : { ...env, ...variables }
}

function findPlugin(command: string, env: NodeJS.ProcessEnv, { findFile, platform }: PluginHost): Whereabouts {
  if (platform !== 'win32') return findProgram(command, env['PATH'])
  const where = findWindowsProgram(command, windowsVariable(env, 'PATH'), (path) => lookAt(findFile(path)))
  return where.kind === 'found' ? { kind: 'found', file: findFile(where.file) } : where
}

/** The system itself looks into PATH. */
function startElsewhere({ args, command }: ExecPluginSpec): ProgramStart {
  return { file: command, args, windowsVerbatimArguments: false }
}

function startOnWindows({ args }: ExecPluginSpec, env: NodeJS.ProcessEnv, where: Whereabouts): ProgramStart {
  if (where.kind === 'missing') throw Object.assign(new Error('not found'), { code: 'ENOENT' })
  return windowsStart(where.file, args, env)
}

const run = promisify(execFile)

async function outputOf(start: ProgramStart, env: NodeJS.ProcessEnv): Promise<string> {
  const { args, file, windowsVerbatimArguments } = start
  const options = { env, timeout: timeoutMs, maxBuffer: 1024 * 1024, windowsHide: true, windowsVerbatimArguments }
  const running = run(file, args, options)
  running.child.stdin?.on('error', () => {}) // a plugin that never reads its input is fine
  running.child.stdin?.end()
  return (await running).stdout
}

function reasonOf(
  { code, killed, message, stderr = '' }: ExecFileException,
  find: () => Whereabouts,
  installHint: string,
): string {
  if (code === 'ENOENT' || code === 'EACCES') return whyNotStarted(code, find(), installHint)
  // Windows says "unknown error" of a file that it does not know how to start.
  if (message === 'spawn UNKNOWN' || message === 'spawn EFTYPE')
    return 'Windows cannot start this file: name an .exe, .com, .bat or .cmd file, or the program that runs it'
  if (typeof code === 'string') return message
  const ended = killed === true ? `no answer in ${timeoutMs / 1000} s` : `exit code ${code}`
  return code === undefined ? message : `${ended}; it printed: ${stderr.trim().slice(0, 1000)}`
}

function whyNotStarted(code: 'ENOENT' | 'EACCES', where: Whereabouts, installHint: string): string {
  if (code === 'EACCES' && where.kind === 'found') return `this user may not run "${where.file}": check its permissions`
  const hint = installHint === '' ? '' : `\n${installHint}`
  const note = where.kind === 'missing' ? hiddenNote(where) : ''
  return `not found${note}: install it, or give its full path.${hint}`
}
