/** Which server to ask: `host:port`, `dns:///name:port` or `unix:///path`. */
import { KpngError } from '../kpng-error.ts'
import type { ApiAddress } from '../plaintext.ts'

/** KPNG refuses `tcp://` here although its servers require it. People paste one into the other, so it is accepted. */
export function parseApiTarget(text: string): string {
  const target = text.startsWith('tcp://') ? text.slice('tcp://'.length) : text
  addressOf(target)
  return target
}

/** Where a target is, as far as its text says. */
export function addressOf(target: string): ApiAddress {
  if (target.startsWith('unix:///')) return { kind: 'unix', path: target.slice('unix://'.length) }
  const isName = target.startsWith('dns:///')
  const [, bracketed, plain = '', port] =
    /^(?:\[([^\]]+)\]|([^:/[\]]+))(?::(\d{1,5}))?$/.exec(isName ? target.slice('dns:///'.length) : target) ?? []
  const host = bracketed ?? plain
  // Only a name that is looked up has a default port: gRPC's own.
  if (host !== '' && (isName || port !== undefined)) return { kind: 'tcp', host, port: Number(port ?? 443) }
  throw new KpngError(
    'bad-address',
    `"${target}" names no KPNG server: write 127.0.0.1:12090, dns:///brain.example:12090 or unix:///run/fairlead.sock`,
  )
}
