import { createSocket } from 'node:dgram'

/** From 127.0.0.1 to its discard port, where nobody listens. */
export async function sendDatagram(): Promise<void> {
  const socket = createSocket('udp4')
  await new Promise<void>((resolve, reject) => {
    socket.send('hello', 9, '127.0.0.1', (error) => (error === null ? resolve() : reject(error)))
  })
  socket.close()
}
