/** Where the API server is and how we authenticate. Everything is looked up again for each request. */
import { systemClock } from '../../../core/clock.ts'
import type { Clock } from '../../../core/clock.ts'
import { silentLogger } from '../../../core/logger.ts'
import type { Logger } from '../../../core/logger.ts'
import { mountedFileFinder } from '../../../host/mounted-file.ts'
import { ExecPlugin } from './exec-plugin.ts'
import type { ExecCredential } from './exec-plugin.ts'
import { FileText } from './file-text.ts'
import { KubeError } from '../kube-error.ts'
import type { ExecPluginSpec, KubeTarget, KubeUser, PemSource } from './kube-target.ts'
import type { PluginHost } from './run-plugin.ts'
import { targetFinder } from './target-finder.ts'

/** What is needed to open a connection and send a request. */
export interface KubeEndpoint {
  readonly server: URL
  readonly tls: TlsSettings
  /** Authorization and impersonation. */
  readonly headers: Readonly<Record<string, string | string[]>>
  /** Only if a plugin gave the credential. */
  readonly execCredential: ExecCredential | undefined
}

interface TlsSettings {
  readonly ca: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
  readonly serverName: string | undefined
  readonly isInsecure: boolean
}

export interface KubeAccessOptions {
  /** A path; empty for none. */
  readonly kubeconfig?: string
  /** `--master`; empty for none. */
  readonly master?: string
  readonly env?: NodeJS.ProcessEnv
  readonly serviceAccountDir?: string
  readonly platform?: NodeJS.Platform
  readonly clock?: Clock
  readonly log?: Logger
}

export async function loadKubeAccess(options: KubeAccessOptions): Promise<KubeAccess> {
  const { env = process.env, platform = process.platform, clock = systemClock, log = silentLogger } = options
  const findFile = mountedFileFinder(platform, env)
  const findTarget = targetFinder({ ...options, env, findFile, log })
  const access = new KubeAccess({ findTarget, findFile, env, platform, clock, log })
  await access.check()
  return access
}

interface KubeAccessParts extends PluginHost {
  readonly findTarget: () => Promise<KubeTarget>
  readonly clock: Clock
  readonly log: Logger
}

export class KubeAccess {
  readonly #parts: KubeAccessParts
  readonly #filesByPath = new Map<string, FileText>()
  #plugin: { readonly key: string; readonly plugin: ExecPlugin } | undefined

  constructor(parts: KubeAccessParts) {
    this.#parts = parts
  }

  /** Throws if the configuration cannot work: a wrong path should stop the start, not be retried for ever. */
  async check(): Promise<void> {
    const { user } = await this.#parts.findTarget()
    // A plugin may need the network, so a failure there is temporary; the rest is on our disk.
    if (user.auth.kind !== 'exec') await this.resolve()
  }

  async server(): Promise<URL> {
    return parseServer((await this.#parts.findTarget()).cluster.server)
  }

  async resolve(): Promise<KubeEndpoint> {
    const { cluster, user } = await this.#parts.findTarget()
    const execCredential = user.auth.kind === 'exec' ? await this.#pluginFor(user.auth.plugin).credential() : undefined
    const certificate = user.clientCertificate
    return {
      server: parseServer(cluster.server),
      tls: {
        ca: await this.#pem(cluster.ca, 'certificate authority'),
        cert: execCredential?.clientCertificate?.cert ?? (await this.#pem(certificate?.cert, 'client certificate')),
        key: execCredential?.clientCertificate?.key ?? (await this.#pem(certificate?.key, 'client key')),
        serverName: cluster.tlsServerName,
        isInsecure: cluster.isInsecure,
      },
      headers: { ...(await this.#authorization(user, execCredential)), ...impersonation(user) },
      execCredential,
    }
  }

  /** The server answered 401. Files are read again anyway, but a plugin's credential would be kept. */
  reject({ execCredential }: KubeEndpoint): void {
    if (execCredential !== undefined) this.#plugin?.plugin.discard(execCredential)
  }

  async #authorization(user: KubeUser, exec: ExecCredential | undefined): Promise<Record<string, string>> {
    const { auth } = user
    switch (auth.kind) {
      case 'none':
        return {}
      case 'token':
        return bearer(auth.token)
      case 'token-file':
        return bearer(await this.#tokenFrom(auth.file, auth.fallback))
      case 'basic': {
        const pair = Buffer.from(`${auth.username}:${auth.password}`).toString('base64')
        return { authorization: `Basic ${pair}` }
      }
      case 'exec':
        return exec?.token === undefined ? {} : bearer(exec.token)
      default:
        return auth satisfies never
    }
  }

  async #tokenFrom(file: string, fallback: string | undefined): Promise<string> {
    try {
      return (await this.#file(file, 'bearer token').read()).trim()
    } catch (error) {
      if (fallback === undefined) throw error
      return fallback
    }
  }

  async #pem(source: PemSource | undefined, what: string): Promise<string | undefined> {
    if (source === undefined) return undefined
    return 'pem' in source ? source.pem : this.#file(source.file, what).read()
  }

  #file(path: string, what: string): FileText {
    let file = this.#filesByPath.get(path)
    if (file === undefined) this.#filesByPath.set(path, (file = new FileText(path, what, this.#parts)))
    return file
  }

  /** Keeps the plugin while its configuration stays the same, so that its credential is used until it expires. */
  #pluginFor(spec: ExecPluginSpec): ExecPlugin {
    const key = JSON.stringify(spec)
    if (this.#plugin?.key !== key) this.#plugin = { key, plugin: new ExecPlugin(spec, this.#parts.clock, this.#parts) }
    return this.#plugin.plugin
  }
}

function parseServer(server: string): URL {
  try {
    return new URL(server)
  } catch (error) {
    throw new KubeError('bad-config', `the API server "${server}" is not a URL: write https://HOST:PORT`, {
      cause: error,
    })
  }
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}

function impersonation({ impersonate }: KubeUser): Record<string, string | string[]> {
  if (impersonate === undefined) return {}
  return {
    'impersonate-user': impersonate.user,
    ...(impersonate.uid === undefined ? {} : { 'impersonate-uid': impersonate.uid }),
    ...(impersonate.groups.length === 0 ? {} : { 'impersonate-group': [...impersonate.groups] }),
  }
}
