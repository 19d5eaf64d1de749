/** Credentials from a program that the kubeconfig names, as `kubectl` gets them from cloud plugins. */
import type { Clock } from '../../../core/clock.ts'
import { KubeError } from '../kube-error.ts'
import type { ExecPluginSpec } from './kube-target.ts'
import { runPlugin } from './run-plugin.ts'
import type { PluginHost } from './run-plugin.ts'
import { asObject, asString } from '../unchecked-json.ts'

export interface ExecCredential {
  readonly token: string | undefined
  readonly clientCertificate: { readonly cert: string; readonly key: string } | undefined
  readonly expiresAtMs: number
}

export class ExecPlugin {
  readonly #spec: ExecPluginSpec
  readonly #clock: Clock
  readonly #host: PluginHost
  #held: ExecCredential | undefined
  #running: Promise<ExecCredential> | undefined

  constructor(spec: ExecPluginSpec, clock: Clock, host: PluginHost) {
    this.#spec = spec
    this.#clock = clock
    this.#host = host
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
    return parseExecCredential(await runPlugin(this.#spec, this.#host), this.#spec)
  }
}

export function parseExecCredential(
  output: string,
  { apiVersion, command }: Pick<ExecPluginSpec, 'apiVersion' | 'command'>,
): ExecCredential {
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
