/**
 * A server on loopback without passwords must not answer web pages: a page can make a browser send requests here
 * (cross-site), or have its own name resolve to 127.0.0.1 (DNS rebinding). Both show in the headers.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { isLoopback, parseIp } from '../net/ip.ts'
import { ApiError } from './status.ts'

export function refuseForeignPages(headers: IncomingHttpHeaders): void {
  if (!isLocalHost(hostOf(headers.host)))
    throw refusal(`the Host header names "${headers.host ?? ''}"; use localhost or 127.0.0.1`)
  if (headers.origin !== undefined && !isLocalHost(hostOfUrl(headers.origin)))
    throw refusal(`the request comes from a web page of "${headers.origin}"`)
}

function isLocalHost(host: string | undefined): boolean {
  if (host === undefined || host === 'localhost') return host !== undefined
  const ip = parseIp(host)
  return ip !== undefined && isLoopback(ip)
}

function hostOf(header: string | undefined): string | undefined {
  return header === undefined ? undefined : hostOfUrl(`http://${header}`)
}

function hostOfUrl(url: string): string | undefined {
  try {
    return new URL(url).hostname.replace(/^\[|\]$/g, '')
  } catch {
    return undefined
  }
}

function refusal(why: string): ApiError {
  return new ApiError(403, 'Forbidden', `forbidden: this server answers programs on this machine only: ${why}`)
}
