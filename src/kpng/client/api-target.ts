/** Which server to ask: `host:port`, `dns:///name:port` or `unix:///path`; on Windows a named pipe. */
import { KpngError } from '../kpng-error.ts'
import { parsePipe } from '../../http/named-pipe.ts'
import { checkPlatform, localSocket } from '../local-socket.ts'
import { addressText } from '../plaintext.ts'
import type { ApiAddress } from '../plaintext.ts'

/** KPNG refuses `tcp://` here although its servers require it. People paste one into the other, so it is accepted. */
export function parseApiTarget(text: string, platform: NodeJS.Platform = process.platform): string {
  const target = text.startsWith('tcp://') ? text.slice('tcp://'.length) : text
  const address = addressOf(target, platform)
  if (address.kind !== 'tcp') checkPlatform(address.kind, target, platform)
  return address.kind === 'pipe' ? addressText(address) : target
}

/** The same for gRPC, which hands the path of a unix socket to Node.js; there a pipe is one too. */
export function channelTarget(target: string): string {
  const address = addressOf(target)
  return address.kind === 'pipe' ? `unix:${address.path}` : target
}

/** Where a target is, as far as its text says. */
export function addressOf(target: string, platform: NodeJS.Platform = process.platform): ApiAddress {
  const pipe = parsePipe(target)
  if (pipe !== undefined) return { kind: 'pipe', path: pipe }
  if (target.startsWith('unix:///')) return { kind: 'unix', path: target.slice('unix://'.length) }
  const isName = target.startsWith('dns:///')
  const [, bracketed, plain = '', port] =
    /^(?:\[([^\]]+)\]|([^:/[\]]+))(?::(\d{1,5}))?$/.exec(isName ? target.slice('dns:///'.length) : target) ?? []
  const host = bracketed ?? plain
  // Only a name that is looked up has a default port: gRPC's own.
  if (host !== '' && (isName || port !== undefined)) return { kind: 'tcp', host, port: Number(port ?? 443) }
  throw new KpngError(
    'bad-address',
    `"${target}" names no KPNG server: write 127.0.0.1:12090, dns:///brain.example:12090 or ${localSocket(platform)}`,
  )
}
