/**
 * Named pipes: what Windows has in place of unix sockets, as far as Node.js can use them. Kubernetes' programs write
 * `npipe:////./pipe/NAME`, Windows itself `\\.\pipe\NAME`; both are understood.
 */
import { KpngError } from './kpng-error.ts'

/** Windows allows no more, `\\.\pipe\` included. */
const longestPath = 256

/** Returns `\\.\pipe\NAME`, or undefined if the text is no pipe of this machine. */
export function parsePipe(text: string): string | undefined {
  const [, name = ''] = /^(?:npipe:(?:\/\/)?)?[\\/]{2}\.[\\/]pipe[\\/](.+)$/i.exec(text) ?? []
  const path = `\\\\.\\pipe\\${name.replaceAll('/', '\\')}`
  return /^[\x21-\x7e]+$/.test(name) && !/[:*?"<>|]|\\\\|\\$/.test(path.slice(4)) && path.length <= longestPath
    ? path
    : undefined
}

/** As Kubernetes' programs write it. */
export function pipeText(path: string): string {
  return `npipe:${`//${path}`.replaceAll('\\', '/')}`
}

/** For messages: a server on this machine that only this machine can reach. */
export function localSocket(platform: NodeJS.Platform): string {
  return platform === 'win32' ? 'npipe:////./pipe/fairlead' : 'unix:///run/fairlead.sock'
}

/** Unix sockets are for other systems than Windows, named pipes for Windows alone. */
export function checkPlatform(kind: 'unix' | 'pipe', text: string, platform: NodeJS.Platform): void {
  if ((kind === 'pipe') === (platform === 'win32')) return
  const problem = kind === 'pipe' ? 'named pipes exist on Windows only' : 'Node.js has no unix sockets on Windows'
  throw new KpngError('bad-address', `"${text}" cannot be used here: ${problem}, write ${localSocket(platform)}`)
}
