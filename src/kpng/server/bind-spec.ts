/** Where a server listens: `tcp://host:port`, `tcp://:port` or `unix:///path`, as in KPNG. */
import { KpngError } from '../kpng-error.ts'
import type { ApiAddress } from '../plaintext.ts'

export function parseBindSpec(text: string): ApiAddress {
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
