/** Which server to ask: `host:port`, `dns:///name:port` or `unix:///path`. */
import { KpngError } from '../kpng-error.ts'

/** KPNG refuses `tcp://` here although its servers want it; people paste the one into the other, so it is understood. */
export function parseApiTarget(text: string): string {
  const [, scheme, rest = ''] = /^(\w+):\/\/(.*)$/s.exec(text) ?? []
  if (scheme === 'tcp' && /^.+:\d+$/.test(rest)) return rest
  if (scheme === 'unix' && rest.startsWith('/')) return text
  if (scheme === 'dns' && rest.startsWith('/')) return text
  if (scheme === undefined && /^.+:\d+$/.test(text)) return text
  throw new KpngError(
    'bad-address',
    `"${text}" names no KPNG server: write 127.0.0.1:12090, dns:///brain.example:12090 or unix:///run/fairlead.sock`,
  )
}
