/** Takes a place where a server can be reached, and says what to do when it cannot be had. */
import { once } from 'node:events'
import type { Server } from 'node:net'
import { hostPort } from '../../net/ip.ts'
import { KpngError } from '../kpng-error.ts'
import { isPrivate } from './bind-spec.ts'
import type { BindSpec } from './bind-spec.ts'
import { clearSocketPath, listenPrivately } from './unix-socket.ts'

/** Resolves once the server listens. */
export async function listenOn(server: Server, bind: BindSpec): Promise<void> {
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

/** Whoever reaches the port can read the state of the cluster. */
export function refusePlaintext(bind: BindSpec): void {
  if (isPrivate(bind)) return
  throw new KpngError(
    'plaintext',
    `refusing to serve the cluster's state in plaintext on ${addressText(bind)}: give TLS files, listen on ` +
      'unix:///… or tcp://127.0.0.1:…, or say --allow-plaintext',
  )
}

function listenError(bind: BindSpec, error: unknown): Error {
  if (error instanceof KpngError) return error
  const { code = '', message = String(error) } = error as { readonly code?: string; readonly message?: string }
  const where = addressText(bind)
  if (code === 'EADDRINUSE')
    return new KpngError('in-use', `cannot listen on ${where}: another process does, choose another address`, {
      cause: error,
    })
  if (code === 'EACCES' || code === 'EPERM')
    return new KpngError('not-permitted', `may not listen on ${where}: choose another address, or run as root`, {
      cause: error,
    })
  return new KpngError('bad-address', `cannot listen on ${where}: ${message}`, { cause: error })
}

function addressText(bind: BindSpec): string {
  return bind.kind === 'unix' ? `unix://${bind.path}` : `tcp://${hostPort(bind.host, bind.port)}`
}
