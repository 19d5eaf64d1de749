/** Who may look: everybody who reaches the server, or those who know the token. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../../core/clock.ts'
import { TokenBucket } from '../../http/debug/token-bucket.ts'

/** Reads it again when its file has changed. Undefined: there is none that can be used, and nobody gets in. */
export type CurrentToken = () => string | undefined

export type Access =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'unknown' }
  /** Too many wrong tokens have come from there. */
  | { readonly kind: 'wait'; readonly ms: number }

const cookieName = 'fairlead-console'
const yearSeconds = 365 * 24 * 60 * 60
/** Of wrong tokens, from one address. Whoever mistypes a few times notices nothing. */
const wrongTokens = { burst: 10, perSecond: 0.2 }
const maxPeers = 256

export class ConsoleAccess {
  readonly #token: CurrentToken | undefined
  readonly #clock: Clock
  readonly #wrongByPeer = new Map<string, TokenBucket>()

  /** Without a token everybody may look. */
  constructor(token: CurrentToken | undefined, clock: Clock) {
    this.#token = token
    this.#clock = clock
  }

  /** By cookie, or by `Authorization: Bearer`. */
  of(request: IncomingMessage): Access {
    if (this.#token === undefined) return { kind: 'allowed' }
    const token = this.#token()
    if (token !== undefined && cookieValues(request).some((value) => isSame(value, sessionOf(token))))
      return { kind: 'allowed' }
    const bearer = /^Bearer +(?<token>\S+) *$/i.exec(request.headers.authorization ?? '')?.groups?.['token']
    return bearer === undefined ? { kind: 'unknown' } : this.withToken(bearer, request)
  }

  withToken(given: string, request: IncomingMessage): Access {
    if (this.#token === undefined) return { kind: 'allowed' }
    const wrong = this.#wrongFrom(request.socket.remoteAddress ?? '')
    const ms = wrong.waitMs()
    if (ms > 0) return { kind: 'wait', ms }
    const token = this.#token()
    if (token !== undefined && isSame(given, token)) return { kind: 'allowed' }
    wrong.spend(1)
    return { kind: 'unknown' }
  }

  /** What a browser keeps instead of the token: it survives a restart of this process, and ends with the token. */
  cookie(isSecure: boolean): string | undefined {
    const token = this.#token?.()
    if (token === undefined) return undefined
    const flags = `Path=/; Max-Age=${yearSeconds}; HttpOnly; SameSite=Strict`
    return `${cookieName}=${sessionOf(token)}; ${flags}${isSecure ? '; Secure' : ''}`
  }

  #wrongFrom(peer: string): TokenBucket {
    const found = this.#wrongByPeer.get(peer) ?? new TokenBucket(wrongTokens, this.#clock)
    this.#wrongByPeer.delete(peer)
    this.#wrongByPeer.set(peer, found)
    const [oldest] = this.#wrongByPeer.keys()
    if (this.#wrongByPeer.size > maxPeers && oldest !== undefined) this.#wrongByPeer.delete(oldest)
    return found
  }
}

function sessionOf(token: string): string {
  return createHmac('sha256', token).update('session of the Fairlead console').digest('base64url')
}

/** In the same time, whatever the difference is, and whatever the lengths are. */
function isSame(left: string, right: string): boolean {
  const [a, b] = [left, right].map((text) => createHmac('sha256', 'compare').update(text).digest())
  return a !== undefined && b !== undefined && timingSafeEqual(a, b)
}

/** Another server on the same host may have set one of the same name. */
function cookieValues({ headers: { cookie = '' } }: IncomingMessage): readonly string[] {
  return cookie
    .split(';')
    .map((pair) => pair.trim().split('='))
    .flatMap(([name, value]) => (name === cookieName && value !== undefined ? [value] : []))
    .slice(0, 4)
}
