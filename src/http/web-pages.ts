/**
 * Servers without passwords must not answer web pages. A page can make a browser send requests here (cross-site), or
 * have its own name resolve to this machine (DNS rebinding). Both show in headers that a page cannot forge.
 */
import { isLoopback, parseIp } from '../net/ip.ts'

export interface RequestHeaders {
  readonly host?: string | undefined
  readonly origin?: string | undefined
  readonly 'sec-fetch-site'?: string | string[] | undefined
}

/** Why this must come from a browser on behalf of a page from elsewhere. Programs and typed addresses pass. */
export function pageBehind({ origin, 'sec-fetch-site': site }: RequestHeaders): string | undefined {
  if (origin !== undefined) return `the request comes from a web page of "${origin}"`
  // "none": a person typed the address. "same-origin": a link on one of our own pages.
  if (site !== undefined && site !== 'none' && site !== 'same-origin')
    return `the request comes from a web page of somewhere else (Sec-Fetch-Site: ${String(site)})`
  return undefined
}

/**
 * Whether a request can be meant for a server on loopback. Any other name could be made to resolve here by its owner. A
 * request without Host is HTTP/1.0, which no browser uses.
 */
export function namesThisMachine(host: string | undefined): boolean {
  if (host === undefined || host === '') return true
  const name = hostnameIn(host)
  return name !== undefined && (parseIp(name) !== undefined || isLocalName(name))
}

/** `localhost`, or an address of loopback. */
export function isLocalName(name: string): boolean {
  const ip = parseIp(name)
  if (ip !== undefined) return isLoopback(ip)
  return name === 'localhost' || name.endsWith('.localhost')
}

/** Without the port, and without the brackets of IPv6. */
export function hostnameIn(host: string): string | undefined {
  try {
    return new URL(`http://${host}`).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  } catch {
    return undefined
  }
}

/** Whether a peer with this address is on this machine. */
export function isLoopbackPeer(address: string | undefined): boolean {
  const ip = parseIp(address ?? '')
  return ip !== undefined && isLoopback(ip)
}

/**
 * For answers that are for people and programs on this machine, not for everybody who reaches the port, nor for web pages
 * with a name that leads here.
 */
export function isFromThisMachine(peer: string | undefined, headers: RequestHeaders): boolean {
  const isNamedLocally = headers.host === undefined || isLocalName(hostnameIn(headers.host) ?? '')
  return isLoopbackPeer(peer) && isNamedLocally && pageBehind(headers) === undefined
}
