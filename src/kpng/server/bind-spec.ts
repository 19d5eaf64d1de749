/** Where a server listens: `tcp://host:port`, `tcp://:port` or `unix:///path`, as in KPNG; on Windows a named pipe. */
import { KpngError } from '../kpng-error.ts'
import { parsePipe } from '../../http/named-pipe.ts'
import { checkPlatform, localSocket } from '../local-socket.ts'
import type { ApiAddress } from '../plaintext.ts'

export function parseBindSpec(text: string, platform: NodeJS.Platform = process.platform): ApiAddress {
  const pipe = parsePipe(text)
  if (pipe !== undefined) {
    checkPlatform('pipe', text, platform)
    return { kind: 'pipe', path: pipe }
  }
  const [, scheme, rest = ''] = /^(\w+):\/\/(.*)$/s.exec(text) ?? []
  if (scheme === 'unix' && rest.startsWith('/')) {
    checkPlatform('unix', text, platform)
    return { kind: 'unix', path: rest }
  }
  const [, bracketed, plain = '', digits = ''] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(rest) ?? []
  if (scheme === 'tcp' && digits !== '' && Number(digits) <= 65_535)
    return { kind: 'tcp', host: bracketed ?? plain, port: Number(digits) }
  throw new KpngError(
    'bad-address',
    `cannot listen on "${text}": write tcp://127.0.0.1:12090, tcp://[::1]:12090 or ${localSocket(platform)}`,
  )
}
