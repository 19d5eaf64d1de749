/** Where a server listens: `tcp://host:port`, `tcp://:port` or `unix:///path`, as KPNG writes it. */
import { isLoopback, parseIp } from '../../net/ip.ts'
import { KpngError } from '../kpng-error.ts'

export type BindSpec =
  | { readonly kind: 'unix'; readonly path: string }
  /** An empty host means every address. */
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }

export function parseBindSpec(text: string): BindSpec {
  const [, scheme, rest = ''] = /^(\w+):\/\/(.*)$/s.exec(text) ?? []
  if (scheme === 'unix' && rest.startsWith('/')) return { kind: 'unix', path: rest }
  const [, bracketed, plain = '', digits = ''] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(rest) ?? []
  if (scheme === 'tcp' && digits !== '' && Number(digits) <= 65_535)
    return { kind: 'tcp', host: bracketed ?? plain, port: Number(digits) }
  throw new KpngError(
    'bad-address',
    `cannot listen on "${text}": write tcp://127.0.0.1:12090, tcp://[::1]:12090 or unix:///run/fairlead.sock`,
  )
}

/** Reachable from this machine only. */
export function isPrivate(spec: BindSpec): boolean {
  if (spec.kind === 'unix') return true
  return spec.host === 'localhost' || isLoopback(parseIp(spec.host) ?? '')
}
