/**
 * Without TLS, whoever controls the network can read the state of the cluster and decide what a backend programs. So
 * plaintext is only used within this machine, unless the operator says that the network can be trusted.
 */
import { hostPort, isLoopback, parseIp } from '../net/ip.ts'
import { KpngError } from './kpng-error.ts'

export type ApiAddress =
  | { readonly kind: 'unix'; readonly path: string }
  /** An empty host means every address. */
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }

/** Throws if the address can be reached from other machines, or is on one. */
export function refusePlaintext(address: ApiAddress, purpose: 'serve' | 'follow'): void {
  if (!isPrivate(address)) throw new KpngError('plaintext', message[purpose](addressText(address)))
}

/** Reachable from this machine only. */
export function isPrivate(address: ApiAddress): boolean {
  if (address.kind === 'unix') return true
  return address.host === 'localhost' || isLoopback(parseIp(address.host) ?? '')
}

export function addressText(address: ApiAddress): string {
  return address.kind === 'unix' ? `unix://${address.path}` : `tcp://${hostPort(address.host, address.port)}`
}

const message = {
  serve: (where: string) =>
    `refusing to serve the cluster's state in plaintext on ${where}: give TLS files, listen on unix:///… or ` +
    'tcp://127.0.0.1:…, or set --allow-plaintext',
  follow: (where: string) =>
    `refusing to follow the cluster's state in plaintext from ${where}: give TLS files, follow unix:///… or ` +
    '127.0.0.1:…, or set --allow-plaintext (in a program: allowPlaintext)',
} as const
