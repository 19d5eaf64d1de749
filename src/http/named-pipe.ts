/**
 * Named pipes: what Windows has in place of unix sockets, as far as Node.js can use them. Kubernetes' programs write
 * `npipe:////./pipe/NAME`, Windows itself `\\.\pipe\NAME`; both are understood.
 */

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

/** Why a socket of this kind cannot be used: unix sockets are for other systems than Windows, pipes for Windows alone. */
export function socketProblem(kind: 'unix' | 'pipe', platform: NodeJS.Platform): string | undefined {
  if ((kind === 'pipe') === (platform === 'win32')) return undefined
  return kind === 'pipe' ? 'named pipes exist on Windows only' : 'Node.js has no unix sockets on Windows'
}
