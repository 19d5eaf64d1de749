/** Listens at an address or path; errors say what to do if that fails. */
import { once } from 'node:events'
import type { Server } from 'node:net'
import { KpngError } from '../kpng-error.ts'
import { addressText } from '../plaintext.ts'
import type { ApiAddress } from '../plaintext.ts'
import { clearSocketPath, listenPrivately } from './unix-socket.ts'

export async function listenOn(server: Server, bind: ApiAddress): Promise<void> {
  const listening = once(server, 'listening')
  try {
    if (bind.kind === 'tcp') server.listen(bind.port, bind.host === '' ? undefined : bind.host)
    else {
      await clearSocketPath(bind.path)
      listenPrivately(server, bind.path)
    }
    await listening
  } catch (error) {
    listening.catch(() => {})
    throw listenError(bind, error)
  }
}

function listenError(bind: ApiAddress, error: unknown): Error {
  if (error instanceof KpngError) return error
  const { code = '', message = String(error) } = error as { readonly code?: string; readonly message?: string }
  const where = addressText(bind)
  if (code === 'EADDRINUSE')
    return new KpngError('in-use', `cannot listen on ${where}: another process uses it, choose another address`, {
      cause: error,
    })
  if (code === 'EACCES' || code === 'EPERM')
    return new KpngError('not-permitted', `may not listen on ${where}: choose another address, or run as root`, {
      cause: error,
    })
  return new KpngError('bad-address', `cannot listen on ${where}: ${message}`, { cause: error })
}
