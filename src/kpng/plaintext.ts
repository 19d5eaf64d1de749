/**
 * Without TLS, whoever controls the network can read the state of the cluster and decide what a backend programs. So
 * plaintext is only used within this machine, unless the operator says that the network can be trusted.
 */
import { hostPort, isLoopback, parseIp } from '../net/ip.ts'
import { KpngError } from './kpng-error.ts'
import { pipeText } from '../http/named-pipe.ts'
import { localSocket } from './local-socket.ts'

export type ApiAddress =
  | { readonly kind: 'unix'; readonly path: string }
  /** `\\.\pipe\NAME` */
  | { readonly kind: 'pipe'; readonly path: string }
  /** An empty host means every address. */
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }

/** Throws if the address can be reached from other machines, or is on one. */
export function refusePlaintext(address: ApiAddress, purpose: 'serve' | 'follow'): void {
  if (!isPrivate(address)) throw new KpngError('plaintext', message[purpose](addressText(address)))
}

/** Reachable from this machine only. */
export function isPrivate(address: ApiAddress): boolean {
  if (address.kind !== 'tcp') return true
  return address.host === 'localhost' || isLoopback(parseIp(address.host) ?? '')
}

export function addressText(address: ApiAddress): string {
  switch (address.kind) {
    case 'unix':
      return `unix://${address.path}`
    case 'pipe':
      return pipeText(address.path)
    case 'tcp':
      return `tcp://${hostPort(address.host, address.port)}`
    default:
      return address satisfies never
  }
}

const local = process.platform === 'win32' ? localSocket('win32') : 'unix:///…'

const message = {
  serve: (where: string) =>
    `refusing to serve the cluster's state in plaintext on ${where}: give TLS files, listen on ${local} or ` +
    'tcp://127.0.0.1:…, or set --allow-plaintext',
  follow: (where: string) =>
    `refusing to follow the cluster's state in plaintext from ${where}: give TLS files, follow ${local} or ` +
    '127.0.0.1:…, or set --allow-plaintext (in a program: allowPlaintext)',
} as const
