/** A server without passwords must not answer web pages, and must not do what they ask for. */
import type { IncomingMessage } from 'node:http'
import { hostnameIn, isLocalName, pageBehind } from '../../http/web-pages.ts'
import { ApiError } from '../status.ts'

export interface GuardOptions {
  /** On other addresses any name may be right. */
  readonly isOnLoopback: boolean
}

export function refuseWebPages({ method, headers }: IncomingMessage, { isOnLoopback }: GuardOptions): void {
  const { host, origin } = headers
  if (isOnLoopback && !isLocalName(hostnameIn(host ?? '') ?? ''))
    throw refusal(`the Host header names "${host ?? ''}"; use localhost or 127.0.0.1`)
  // A page that is developed on this machine may look at the objects. To change them takes a program: kubectl sends no Origin.
  const isReading = method === 'GET' || method === 'HEAD'
  if (origin !== undefined && isReading && isLocalName(hostnameIn(origin.replace(/^https?:\/\//, '')) ?? '')) return
  const page = pageBehind(headers)
  if (page !== undefined) throw refusal(page)
}

function refusal(why: string): ApiError {
  return new ApiError(403, 'Forbidden', `forbidden: this server answers programs on this machine only: ${why}`)
}
