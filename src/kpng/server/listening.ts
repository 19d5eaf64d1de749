/** Listens at an address or path; errors say what to do if that fails. */
import { once } from 'node:events'
import type { Server } from 'node:net'
import { portAdvice } from '../../net/port-advice.ts'
import { KpngError } from '../kpng-error.ts'
import { addressText } from '../plaintext.ts'
import type { ApiAddress } from '../plaintext.ts'
import { listenLocally, SocketInUseError } from '../../http/local-socket.ts'

export async function listenOn(server: Server, bind: ApiAddress): Promise<void> {
  const listening = once(server, 'listening')
  try {
    if (bind.kind === 'tcp') server.listen(bind.port, bind.host === '' ? undefined : bind.host)
    else await listenLocally(server, bind)
    await listening
  } catch (error) {
    listening.catch(() => {})
    throw listenError(bind, error)
  }
}

export function listenError(bind: ApiAddress, error: unknown, platform = process.platform): Error {
  if (error instanceof SocketInUseError) return new KpngError('in-use', error.message, { cause: error })
  const { code = '', message = String(error) } = error as { readonly code?: string; readonly message?: string }
  const where = addressText(bind)
  if (code === 'EADDRINUSE')
    return new KpngError('in-use', `cannot listen on ${where}: another process uses it, choose another address`, {
      cause: error,
    })
  if (code === 'EACCES' || code === 'EPERM')
    return new KpngError('not-permitted', `may not listen on ${where}: ${permissionAdvice(bind, platform)}`, {
      cause: error,
    })
  return new KpngError('bad-address', `cannot listen on ${where}: ${message}`, { cause: error })
}

function permissionAdvice(bind: ApiAddress, platform: NodeJS.Platform): string {
  if (platform !== 'win32') return 'choose another address, or run as root'
  return bind.kind === 'tcp' ? portAdvice(platform) : 'choose another name, or run as administrator'
}
