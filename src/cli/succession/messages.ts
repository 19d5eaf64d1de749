/** What a running proxy and one that wants its place say to each other: a line of JSON each. */
import type { KeptSocket } from '../../net/kept-sockets.ts'

/** Of these messages, and of the names of the sockets: a proxy that speaks another one is waited for, as one that hands over nothing. */
export const protocolNumber = 1

export interface ProxyIdentity {
  readonly pid: number
  readonly version: string
  readonly mode: string
  readonly sinceMs: number
}

export type NamedSocket = Omit<KeptSocket, 'fd'>

export type FromRunning =
  | ({ readonly kind: 'running'; readonly protocol: number } & ProxyIdentity)
  /** Their descriptors come in the same order. */
  | { readonly kind: 'sockets'; readonly sockets: readonly NamedSocket[] }
  /** It syncs no more, and that was all of them. */
  | { readonly kind: 'yours'; readonly count: number }
  /** It is handing over to somebody else. */
  | { readonly kind: 'busy' }
  /** It accepts nothing any more. */
  | { readonly kind: 'retired' }

export type FromNewcomer =
  | ({ readonly kind: 'coming' } & ProxyIdentity)
  /** It knows the cluster. */
  | { readonly kind: 'hand over' }
  /** It serves. */
  | { readonly kind: 'serving' }

export function renderMessage(message: FromRunning | FromNewcomer): Buffer {
  return Buffer.from(`${JSON.stringify(message)}\n`)
}

/** Undefined: nothing that this version knows. */
export function parseFromRunning(line: string): FromRunning | undefined {
  const message = objectIn(line)
  switch (message?.['kind']) {
    case 'running':
      return hasIdentity(message) && isCount(message['protocol']) ? (message as unknown as FromRunning) : undefined
    case 'sockets': {
      const { sockets } = message
      return Array.isArray(sockets) && sockets.every(isNamedSocket) ? { kind: 'sockets', sockets } : undefined
    }
    case 'yours':
      return isCount(message['count']) ? { kind: 'yours', count: message['count'] } : undefined
    case 'busy':
    case 'retired':
      return { kind: message['kind'] }
    default:
      return undefined
  }
}

/** Undefined: nothing that this version knows. */
export function parseFromNewcomer(line: string): FromNewcomer | undefined {
  const message = objectIn(line)
  switch (message?.['kind']) {
    case 'coming':
      return hasIdentity(message) ? (message as unknown as FromNewcomer) : undefined
    case 'hand over':
    case 'serving':
      return { kind: message['kind'] }
    default:
      return undefined
  }
}

type Fields = Readonly<Record<string, unknown>>

function objectIn(line: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as Fields) : undefined
  } catch {
    return undefined
  }
}

function hasIdentity({ pid, version, mode, sinceMs }: Fields): boolean {
  return isCount(pid) && typeof version === 'string' && typeof mode === 'string' && typeof sinceMs === 'number'
}

function isNamedSocket(value: unknown): value is NamedSocket {
  const { use, protocol, ip, port } = (value ?? {}) as Fields
  return (
    typeof use === 'string' && (protocol === 'TCP' || protocol === 'UDP') && typeof ip === 'string' && isCount(port)
  )
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0
}
