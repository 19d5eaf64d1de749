/**
 * Whether a request can come from the console's own page, or from a person or a program that means this server. A page
 * from elsewhere can make a browser send requests here, also under a name of its own (DNS rebinding); both show in
 * headers that a page cannot forge.
 */
import type { IncomingMessage } from 'node:http'
import { hostnameIn, isLocalName, namesThisMachine } from '../../../http/web-pages.ts'
import { isLoopback } from '../../../net/ip.ts'

export interface ConsolePlace {
  /** Where it listens. */
  readonly ip: string
  readonly hasTls: boolean
  /** How browsers reach it through a proxy, if there is one: `https://console.example`. */
  readonly url: URL | undefined
}

/** Why it is refused. */
export function whyNotAnswered(request: IncomingMessage, place: ConsolePlace): string | undefined {
  const { host, origin, 'sec-fetch-site': site } = request.headers
  if (!mayBeNamed(host, place)) return wrongHost(host, place)
  if (origin !== undefined && !ownOrigins(host, place).includes(normalOrigin(origin)))
    return `the request comes from a web page of "${origin}"`
  if (site === undefined || site === 'none' || site === 'same-origin' || isFollowedLink(request)) return undefined
  return `the request comes from a web page of somewhere else (Sec-Fetch-Site: ${site})`
}

/** Whether a cookie may travel without TLS: on this machine there is nobody in between. */
export function isOnThisMachine(request: IncomingMessage, { hasTls }: ConsolePlace): boolean {
  return !hasTls && isLocalName(hostnameIn(request.headers.host ?? '') ?? '')
}

function mayBeNamed(host: string | undefined, { ip, url }: ConsolePlace): boolean {
  if (namesThisMachine(host)) return true
  if (url !== undefined) return hostnameIn(host ?? '') === url.hostname
  // Beyond loopback there is TLS, so the browser has compared the name with the certificate, and there is the token.
  return !isLoopback(ip)
}

function wrongHost(host = '', { url }: ConsolePlace): string {
  const names = url === undefined ? 'localhost or an IP address' : `${url.host}, localhost or an IP address`
  return `the Host header names "${host}"; use ${names}`
}

function ownOrigins(host: string | undefined, { hasTls, url }: ConsolePlace): readonly (string | undefined)[] {
  const direct = host === undefined ? [] : [normalOrigin(`${hasTls ? 'https' : 'http'}://${host}`)]
  return url === undefined ? direct : [...direct, url.origin]
}

/** Never "null", which is the origin of a sandbox. */
function normalOrigin(text: string): string | undefined {
  return URL.canParse(text) ? new URL(text).origin : 'none'
}

/** A link to the console, in a chat or a ticket: a whole new document, which has nothing to tell to where it was linked. */
function isFollowedLink({ method, headers, url = '' }: IncomingMessage): boolean {
  return (
    method === 'GET' &&
    headers['sec-fetch-mode'] === 'navigate' &&
    headers['sec-fetch-dest'] === 'document' &&
    !/^\/(api|debug)\//.test(url)
  )
}
