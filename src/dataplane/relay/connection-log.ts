/** The log lines of a connection: the messages and keys that users of kube-proxy's userspace mode search for. */
import type { Socket } from 'node:net'
import type { Logger } from '../../core/logger.ts'
import { hostPort } from '../../net/ip.ts'
import type { Choice } from './balancer.ts'
import { clientIp } from './client-ip.ts'
import type { Pool } from './pool.ts'
import type { TcpConnection } from './tcp-connection.ts'

/** Whether anybody may see what follows: asking a socket for its addresses costs a call into the kernel each time. */
export function isFollowed(log: Logger): boolean {
  return log.wouldShow?.(3) ?? true
}

export function logAccepted(log: Logger, client: Socket): void {
  if (!isFollowed(log)) return
  log.debug(3, 'Accepted TCP connection from remote', { remoteAddress: remote(client), localAddress: local(client) })
}

export function logNewUdpClient(log: Logger, address: string): void {
  log.debug(3, 'New UDP connection from client', { address })
}

export function logChoice(log: Logger, pool: Pool, choice: Choice, ip: string, port: number): void {
  const address = hostPort(ip, port)
  log.debug(4, 'NextEndpoint for service', { servicePortName: pool.service, address, endpoints: pool.names })
  if (choice.because === 'affinity')
    log.debug(4, 'NextEndpoint for service from IP with sessionAffinity', {
      servicePortName: pool.service,
      IP: ip,
      endpoint: choice.name,
    })
  log.debug(3, 'Mapped service to endpoint', { service: pool.service, endpoint: choice.name })
}

export function logJoined(log: Logger, client: Socket, backend: Socket): void {
  if (!isFollowed(log)) return
  log.debug(4, 'Creating proxy between remote and local addresses', {
    inRemoteAddress: remote(client),
    inLocalAddress: local(client),
    outLocalAddress: local(backend),
    outRemoteAddress: remote(backend),
  })
}

/** The addresses are taken while the sockets are open: a closed one no longer knows them. */
export function logCopies(log: Logger, client: Socket, backend: Socket): (done: TcpConnection) => void {
  if (!isFollowed(log)) return () => {}
  const toBackend = direction('to backend', client, backend)
  const fromBackend = direction('from backend', backend, client)
  log.debug(4, 'Copying remote address bytes', toBackend)
  log.debug(4, 'Copying remote address bytes', fromBackend)
  return (done) => {
    log.debug(4, 'Copied remote address bytes', { bytes: done.bytesIn, ...toBackend })
    log.debug(4, 'Copied remote address bytes', { bytes: done.bytesOut, ...fromBackend })
  }
}

function direction(name: 'to backend' | 'from backend', source: Socket, destination: Socket) {
  return { direction: name, sourceRemoteAddress: remote(source), destinationRemoteAddress: remote(destination) }
}

function remote(socket: Socket): string {
  return hostPort(clientIp(socket.remoteAddress ?? ''), socket.remotePort ?? 0)
}

function local(socket: Socket): string {
  return hostPort(clientIp(socket.localAddress ?? ''), socket.localPort ?? 0)
}
