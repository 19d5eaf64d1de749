import type { ObjectKey } from '../../api/records.ts'
import type { Logger } from '../../core/logger.ts'
import type { HealthCheckPort, ServiceHealthAnswer } from '../../core/health/service-health.ts'
import { isSameData } from '../../core/same-data.ts'
import type { KeptSockets } from '../../net/kept-sockets.ts'
import { ConnectionLimit } from '../../http/connection-limit.ts'
import { listenHttp } from './http-server.ts'
import type { HttpListener } from './http-server.ts'
import { reply } from './reply.ts'
import type { HttpHandler } from './reply.ts'

export interface ServiceHealthServerOptions {
  readonly nodeName: string
  readonly health: { answer(service: ObjectKey): ServiceHealthAnswer | undefined }
  /**
   * Addresses of one family, as of now: its wildcard, or the node's own that nodePortAddresses selects. If empty, nothing
   * is opened.
   */
  readonly listenIps: () => readonly string[]
  /** Reported as a Warning event `FailedToStartServiceHealthcheck` on the Service. */
  readonly onListenFailure: (port: HealthCheckPort, note: string) => void
  /** For all ports together. */
  readonly maxConnections: number
  /** See `HttpServerOptions`. */
  readonly sockets?: KeptSockets | undefined
  readonly log: Logger
}

interface Open {
  readonly port: number
  /** Where they listen. */
  readonly ips: readonly string[]
  readonly listeners: readonly HttpListener[]
}

/** Listens on the health-check node ports of one family, one server per Service and address. */
export class ServiceHealthServer implements AsyncDisposable {
  readonly #options: ServiceHealthServerOptions
  readonly #connections: ConnectionLimit
  readonly #openByService = new Map<ObjectKey, Open>()
  /** Changes run one after the other. */
  #last: Promise<void> = Promise.resolve()

  constructor(options: ServiceHealthServerOptions) {
    this.#options = options
    this.#connections = new ConnectionLimit(options.maxConnections)
  }

  /**
   * Opens exactly these ports and closes all others. Open and unchanged ones are not touched. A port that cannot be
   * opened is reported, and tried again by the next call. When the addresses have changed, all are opened anew.
   */
  sync(ports: readonly HealthCheckPort[]): Promise<void> {
    this.#last = this.#last.catch(() => {}).then(() => this.#apply(ports))
    return this.#last
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.sync([])
  }

  async #apply(ports: readonly HealthCheckPort[]): Promise<void> {
    const wantedByService = new Map(ports.map((wanted) => [wanted.service, wanted]))
    const ips = this.#options.listenIps()
    // Close before opening, because a port may move from one Service to another.
    for (const [service, open] of this.#openByService) {
      if (wantedByService.get(service)?.port === open.port && isSameData(ips, open.ips)) continue
      this.#openByService.delete(service)
      await closeAll(open.listeners)
    }
    for (const wanted of ports) if (!this.#openByService.has(wanted.service)) await this.#open(wanted, ips)
  }

  async #open(wanted: HealthCheckPort, ips: readonly string[]): Promise<void> {
    const { health, log, nodeName, onListenFailure, sockets } = this.#options
    const what = `the health checks of Service ${wanted.service}`
    const listeners: HttpListener[] = []
    try {
      for (const ip of ips) {
        const bind = { ip, port: wanted.port }
        const handler = serviceHealthHandler(() => health.answer(wanted.service))
        const connections = this.#connections
        const own = { connections, ...(sockets && { sockets }) }
        listeners.push(await listenHttp({ what, bind, isSingleFamily: true, handler, ...own, answersPages: true, log }))
      }
      this.#openByService.set(wanted.service, { port: wanted.port, ips, listeners })
    } catch (error) {
      // All addresses or none: otherwise the node would look healthy to some load balancers only.
      await closeAll(listeners)
      const reason = error instanceof Error ? error.message : String(error)
      log.error('health-check port not opened, will be retried', { service: wanted.service, port: wanted.port, error })
      onListenFailure(wanted, `node ${nodeName} does not serve port ${wanted.port} of ${wanted.service}: ${reason}`)
    }
  }
}

/** Any path, any method. */
function serviceHealthHandler(answer: () => ServiceHealthAnswer | undefined): HttpHandler {
  return (_request, response) => {
    const { status, headers, body } = answer() ?? gone
    reply(response, status, headers, body)
  }
}

/** The Service was removed and its port is about to close, so no load balancer should use it any more. */
const gone: ServiceHealthAnswer = { status: 503, headers: {}, body: '' }

async function closeAll(listeners: readonly HttpListener[]): Promise<void> {
  for (const listener of listeners) await listener[Symbol.asyncDispose]()
}
