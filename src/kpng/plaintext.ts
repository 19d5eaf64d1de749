/**
 * Without TLS, whoever controls the network can read the state of the cluster and decide what a backend programs. So
 * plaintext is only used within this machine, unless the operator says that the network can be trusted.
 */
import { hostPort, isLoopback, parseIp } from '../net/ip.ts'
import { KpngError } from './kpng-error.ts'

export type Place =
  | { readonly kind: 'unix'; readonly path: string }
  /** An empty host means every address. */
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }

/** Throws if the place can be reached from other machines, or is on one. */
export function refusePlaintext(place: Place, purpose: 'serve' | 'follow'): void {
  if (!isPrivate(place)) throw new KpngError('plaintext', message[purpose](placeText(place)))
}

/** Reachable from this machine only. */
export function isPrivate(place: Place): boolean {
  if (place.kind === 'unix') return true
  return place.host === 'localhost' || isLoopback(parseIp(place.host) ?? '')
}

export function placeText(place: Place): string {
  return place.kind === 'unix' ? `unix://${place.path}` : `tcp://${hostPort(place.host, place.port)}`
}

const message = {
  serve: (where: string) =>
    `refusing to serve the cluster's state in plaintext on ${where}: give TLS files, listen on unix:///… or ` +
    'tcp://127.0.0.1:…, or set --allow-plaintext',
  follow: (where: string) =>
    `refusing to follow the cluster's state in plaintext from ${where}: give TLS files, follow unix:///… or ` +
    '127.0.0.1:…, or set --allow-plaintext (in a program: allowPlaintext)',
} as const
