/** Credentials from a program that the kubeconfig names, as `kubectl` gets them from cloud plugins. */
import { execFile } from 'node:child_process'
import type { Clock } from '../../../core/clock.ts'
import { findProgram, hiddenNote } from '../../../host/find-program.ts'
import { KubeError } from '../kube-error.ts'
import type { ExecPluginSpec } from './kube-target.ts'
import { asObject, asString } from '../unchecked-json.ts'

export interface ExecCredential {
  readonly token: string | undefined
  readonly clientCertificate: { readonly cert: string; readonly key: string } | undefined
  readonly expiresAtMs: number
}

const pluginTimeoutMs = 60_000

export class ExecPlugin {
  readonly #spec: ExecPluginSpec
  readonly #clock: Clock
  readonly #env: NodeJS.ProcessEnv
  #held: ExecCredential | undefined
  #running: Promise<ExecCredential> | undefined

  constructor(spec: ExecPluginSpec, clock: Clock, env: NodeJS.ProcessEnv) {
    this.#spec = spec
    this.#clock = clock
    this.#env = env
  }

  /** Returns the last credential while it is valid; otherwise runs the plugin, once for all callers that wait. */
  async credential(): Promise<ExecCredential> {
    if (this.#held !== undefined && this.#held.expiresAtMs > this.#clock.now()) return this.#held
    this.#running ??= this.#run().finally(() => (this.#running = undefined))
    return (this.#held = await this.#running)
  }

  /** The server refused this credential: the next call runs the plugin again, unless that has been done already. */
  discard(refused: ExecCredential): void {
    if (this.#held === refused) this.#held = undefined
  }

  async #run(): Promise<ExecCredential> {
    const { apiVersion, clusterInfo, command, args, env, installHint } = this.#spec
    const info = { apiVersion, kind: 'ExecCredential', spec: { cluster: clusterInfo, interactive: false } }
    const output = await runProgram(command, args, installHint, {
      ...this.#env,
      ...env,
      KUBERNETES_EXEC_INFO: JSON.stringify(info),
    })
    return parseExecCredential(output, this.#spec)
  }
}

function runProgram(
  command: string,
  args: readonly string[],
  installHint: string,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env, timeout: pluginTimeoutMs, maxBuffer: 1024 * 1024 }
    const child = execFile(command, args, options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout)
      const ended = error.killed === true ? `no answer in ${pluginTimeoutMs / 1000} s` : `exit code ${error.code}`
      const reason =
        whyNotStarted(error, command, env['PATH'], installHint) ??
        `${ended}; it printed: ${stderr.trim().slice(0, 1000)}`
      reject(new KubeError('credentials', `credential plugin "${command}" failed: ${reason}`, { cause: error }))
    })
    child.stdin?.on('error', () => {}) // a plugin that never reads its input is fine
    child.stdin?.end()
  })
}

/** Why it could not be started, if that is why it failed. */
function whyNotStarted(
  { code }: { readonly code?: number | string | null },
  command: string,
  path: string | undefined,
  installHint: string,
): string | undefined {
  if (code !== 'ENOENT' && code !== 'EACCES') return undefined
  const where = findProgram(command, path)
  if (code === 'EACCES' && where.kind === 'found') return `this user may not run "${where.file}": check its permissions`
  const hint = installHint === '' ? '' : `\n${installHint}`
  const note = where.kind === 'missing' ? hiddenNote(where) : ''
  return `not found${note}: install it, or give its full path.${hint}`
}

function parseExecCredential(output: string, { apiVersion, command }: ExecPluginSpec): ExecCredential {
  const problem = (text: string) => new KubeError('credentials', `credential plugin "${command}" ${text}`)
  let answer: Readonly<Record<string, unknown>>
  try {
    answer = asObject(JSON.parse(output))
  } catch (error) {
    throw new KubeError('credentials', `credential plugin "${command}" printed something that is not JSON`, {
      cause: error,
    })
  }
  if (answer['apiVersion'] !== apiVersion)
    throw problem(`answered in apiVersion ${String(answer['apiVersion'])}, but the kubeconfig asks for ${apiVersion}`)
  const status = asObject(answer['status'])
  const token = asString(status['token'])
  const cert = asString(status['clientCertificateData'])
  const key = asString(status['clientKeyData'])
  if ((cert === undefined) !== (key === undefined))
    throw problem('gave only one of status.clientCertificateData and status.clientKeyData')
  if (token === undefined && cert === undefined)
    throw problem('gave neither status.token nor status.clientCertificateData')
  const expiry = asString(status['expirationTimestamp'])
  const expiresAtMs = expiry === undefined ? Infinity : Date.parse(expiry)
  if (Number.isNaN(expiresAtMs)) throw problem(`gave an expirationTimestamp that is not a time: ${expiry}`)
  return {
    token,
    clientCertificate: cert === undefined || key === undefined ? undefined : { cert, key },
    expiresAtMs,
  }
}
