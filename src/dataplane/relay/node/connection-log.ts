/** The log lines of a connection: the messages and keys that users of kube-proxy's userspace mode search for. */
import type { Socket } from 'node:net'
import type { Logger } from '../../../core/logger.ts'
import { hostPort } from '../../../net/ip.ts'
import type { Choice } from './balancer.ts'
import { clientIp } from './open-listener.ts'
import type { Pool } from './pool.ts'
import type { SocketAddress } from '../relay.ts'

/** Asking a socket for its addresses costs a system call each time, so callers check this first. */
export function logsConnections(log: Logger): boolean {
  return log.wouldShow?.(3) ?? true
}

export interface Accepted {
  readonly remoteAddress: string
  readonly localAddress: string
}

/** `ip:port` of both ends of both connections, as the original names them. */
export interface Joined {
  readonly inRemoteAddress: string
  readonly inLocalAddress: string
  readonly outLocalAddress: string
  readonly outRemoteAddress: string
}

export interface Chosen {
  readonly service: string
  /** All candidates. */
  readonly endpoints: readonly string[]
  readonly client: { readonly ip: string; readonly address: string }
  readonly endpoint: string
  readonly because: Choice['because']
}

export function logAccepted(log: Logger, accepted: Accepted): void {
  log.debug(3, 'Accepted TCP connection from remote', { ...accepted })
}

export function logNewUdpClient(log: Logger, address: string): void {
  log.debug(3, 'New UDP connection from client', { address })
}

export function logChoice(log: Logger, { service, endpoints, client, endpoint, because }: Chosen): void {
  log.debug(4, 'NextEndpoint for service', { servicePortName: service, address: client.address, endpoints })
  if (because === 'affinity')
    log.debug(4, 'NextEndpoint for service from IP with sessionAffinity', {
      servicePortName: service,
      IP: client.ip,
      endpoint,
    })
  log.debug(3, 'Mapped service to endpoint', { service, endpoint })
}

export function chosenFor({ service, names }: Pool, { name, because }: Choice, client: SocketAddress): Chosen {
  const address = hostPort(client.ip, client.port)
  return { service, endpoints: names, client: { ip: client.ip, address }, endpoint: name, because }
}

export function logDialFailed(log: Logger, service: string, endpoint: string, error: unknown): void {
  log.debug(3, 'Dial failed', { service, endpoint, error })
}

export function logJoined(log: Logger, joined: Joined): void {
  log.debug(4, 'Creating proxy between remote and local addresses', { ...joined })
  for (const direction of directions(joined.inRemoteAddress, joined.outRemoteAddress))
    log.debug(4, 'Copying remote address bytes', { ...direction })
}

/** The original says neither whose connection it was nor how long it lasted; both are what people ask first. */
export interface Copied {
  readonly service: string
  readonly client: string
  readonly endpoint: string
  readonly bytesIn: number
  readonly bytesOut: number
  readonly durationMs: number
}

export function logCopied(log: Logger, { service, client, endpoint, bytesIn, bytesOut, durationMs }: Copied): void {
  const [toBackend, fromBackend] = directions(client, endpoint)
  log.debug(4, 'Copied remote address bytes', { bytes: bytesIn, ...toBackend, service, durationMs })
  log.debug(4, 'Copied remote address bytes', { bytes: bytesOut, ...fromBackend, service, durationMs })
}

function directions(client: string, endpoint: string) {
  return [
    { direction: 'to backend', sourceRemoteAddress: client, destinationRemoteAddress: endpoint },
    { direction: 'from backend', sourceRemoteAddress: endpoint, destinationRemoteAddress: client },
  ] as const
}

/** Only while the socket is open: a closed one no longer knows. */
export function endsOf(socket: Socket): { readonly remote: string; readonly local: string } {
  const { remoteAddress = '', remotePort = 0, localAddress = '', localPort = 0 } = socket
  return { remote: hostPort(clientIp(remoteAddress), remotePort), local: hostPort(clientIp(localAddress), localPort) }
}

export function logLimited(log: Logger, service: string, alsoTurnedAway: number): void {
  log.warn('a connection was refused: its Service has as many as its limits allow', { service, alsoTurnedAway })
}
