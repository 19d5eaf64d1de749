/**
 * Takes accepted connections before Node makes sockets of them. Node lets only outgoing connections choose where they
 * read to (`onread`); for accepted ones it would allocate 64 KB for each read, however small.
 */
import { Socket, type OnReadOpts, type Server } from 'node:net'

/** The part of Node's TCP handle that is used here: the same since Node 12, though not documented. */
interface TcpHandle {
  onconnection: (status: number, connection: TcpHandle | undefined) => void
  setNoDelay(isOn: boolean): void
  setKeepAlive(isOn: boolean, initialDelaySeconds: number): void
}

/** Makes the socket; paused, so that what the client sends waits in the kernel until an endpoint is there. */
export type OpenAccepted = (onread: OnReadOpts) => Socket

export function acceptSockets(
  server: Server,
  { onAccept, onError }: { onAccept(this: void, open: OpenAccepted): void; onError(this: void, errno: number): void },
): void {
  const listening = handleOf(server)
  listening.onconnection = (status, connection) => {
    if (connection === undefined) return onError(status)
    connection.setNoDelay(true)
    connection.setKeepAlive(true, 15)
    onAccept((onread) => {
      const undocumented = { handle: connection, pauseOnCreate: true, onread }
      return new Socket({ ...undocumented, allowHalfOpen: true, readable: true, writable: true })
    })
  }
}

function handleOf(server: Server): TcpHandle {
  const handle = (server as unknown as { readonly _handle?: TcpHandle | null })._handle
  if (typeof handle?.onconnection !== 'function')
    throw new Error(
      `Node.js ${process.version} accepts connections in a way that Fairlead does not support: use Node.js 20 to 24`,
    )
  return handle
}
