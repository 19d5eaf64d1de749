import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiClient } from '../../../src/embedded/testing/api-client.ts'
import type { SendRequest } from '../../../src/embedded/testing/api-client.ts'
import { apiServerArguments } from './api-server-arguments.ts'
import { CertificateAuthority } from './certificates.ts'
import { Etcd } from './etcd.ts'
import { freePorts } from './free-ports.ts'
import { httpsRequests } from './https-requests.ts'
import { renderKubeconfig } from './kubeconfig.ts'
import type { KubeconfigUser } from './kubeconfig.ts'
import { buildProgram } from './programs.ts'
import { ServerProcess } from './server-process.ts'

/** The owner of a static token. */
export interface TokenUser {
  readonly user: string
  readonly groups: readonly string[]
}

export interface SeenRequest {
  readonly user: string
  readonly userAgent: string
  /** With the query. */
  readonly path: string
  /** As in RBAC rules: the verb, and the plural name with its group; empty for what is no object. */
  readonly verb: string
  readonly resource: string
  /** Of the answer. */
  readonly code: number
}

/** What we read of a line of the audit log. */
interface AuditEvent {
  readonly requestURI: string
  readonly verb: string
  readonly objectRef?: { readonly resource?: string; readonly apiGroup?: string }
  readonly userAgent?: string
  readonly user: { readonly username: string }
  readonly responseStatus?: { readonly code?: number }
}

export const adminToken = 'admin-token'

/** A real API server over a real etcd, on 127.0.0.1, with RBAC on; gone without a trace when it is disposed of. */
export async function startControlPlane(featureGates: Readonly<Record<string, boolean>> = {}): Promise<ControlPlane> {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-cluster-'))
  let etcd: Etcd | undefined
  try {
    const authority = await CertificateAuthority.create(folder)
    etcd = await Etcd.start(folder)
    const { apiServer } = await freePorts('apiServer')
    const ca = await readFile(authority.certFile, 'utf8')
    const args = await apiServerArguments({
      folder,
      authority,
      etcdUrl: etcd.url,
      port: apiServer,
      tokenFile: tokenFileIn(folder),
      auditLog: auditLogIn(folder),
      featureGates,
    })
    const controlPlane = new ControlPlane({ folder, authority, etcd, ca, url: `https://127.0.0.1:${apiServer}`, args })
    await controlPlane.setTokens({})
    await controlPlane.startApiServer()
    return controlPlane
  } catch (error) {
    await etcd?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

export class ControlPlane implements AsyncDisposable {
  readonly url: string
  /** For files of the test; removed at the end. */
  readonly folder: string
  readonly authority: CertificateAuthority
  readonly etcd: Etcd
  /** Sends requests as a cluster administrator. */
  readonly requests: SendRequest
  readonly client: ApiClient
  readonly #ca: string
  readonly #args: readonly string[]
  #apiServer: ServerProcess | undefined
  #kubeconfigCount = 0

  constructor(
    parts: Pick<ControlPlane, 'url' | 'folder' | 'authority' | 'etcd'> & { ca: string; args: readonly string[] },
  ) {
    this.url = parts.url
    this.folder = parts.folder
    this.authority = parts.authority
    this.etcd = parts.etcd
    this.#ca = parts.ca
    this.#args = parts.args
    this.requests = httpsRequests(this.url, { ca: this.#ca, token: adminToken })
    this.client = new ApiClient(this.requests)
  }

  clientAs(token: string): ApiClient {
    return new ApiClient(httpsRequests(this.url, { ca: this.#ca, token }))
  }

  /** The path of a kubeconfig for this cluster, which may be reached through a relay. */
  async writeKubeconfig(user: KubeconfigUser, url = this.url): Promise<string> {
    this.#kubeconfigCount += 1
    const file = join(this.folder, `kubeconfig-${this.#kubeconfigCount}.yaml`)
    await writeFile(file, renderKubeconfig(url, this.authority.certFile, user))
    return file
  }

  /** From the next start of the API server on, exactly these tokens (and the administrator's) are known. */
  async setTokens(usersByToken: Readonly<Record<string, TokenUser>>): Promise<void> {
    const all = { ...usersByToken, [adminToken]: { user: 'admin', groups: ['system:masters'] } }
    const lines = Object.entries(all).map(
      ([token, { user, groups }]) => `${token},${user},${user},"${groups.join(',')}"\n`,
    )
    await writeFile(tokenFileIn(this.folder), lines.join(''))
  }

  /** The requests that the server has begun to answer, oldest first. */
  async seenRequests(): Promise<readonly SeenRequest[]> {
    const lines = (await readFile(auditLogIn(this.folder), 'utf8')).split('\n').filter((line) => line !== '')
    return lines.map((line) => {
      const event = JSON.parse(line) as AuditEvent
      const { resource = '', apiGroup = '' } = event.objectRef ?? {}
      return {
        user: event.user.username,
        userAgent: event.userAgent ?? '',
        path: event.requestURI,
        verb: event.verb,
        resource: apiGroup === '' ? resource : `${resource}.${apiGroup}`,
        code: event.responseStatus?.code ?? 0,
      }
    })
  }

  /** Takes the API server away; etcd stays. */
  async stopApiServer(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    await this.#apiServer?.stop(signal)
  }

  /** Brings the API server (back) up, always at the same address and with the same objects. */
  async startApiServer(): Promise<void> {
    const executable = await buildProgram('kube-apiserver')
    const apiServer = new ServerProcess('kube-apiserver', executable, this.#args, join(this.folder, 'apiserver.log'))
    this.#apiServer = apiServer
    try {
      await apiServer.waitUntil('ready', async () => {
        const { status } = await this.client.request('GET', '/readyz')
        return status === 200
      })
    } catch (error) {
      await this.stopApiServer()
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopApiServer()
    await this.etcd[Symbol.asyncDispose]()
    await rm(this.folder, { recursive: true, force: true })
  }
}

function tokenFileIn(folder: string): string {
  return join(folder, 'tokens.csv')
}

function auditLogIn(folder: string): string {
  return join(folder, 'audit.log')
}
