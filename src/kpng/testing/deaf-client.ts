/**
 * A client that sends requests and never reads, not even from its socket. It lets the server send as much as it likes,
 * so that only the server's own limits keep data from piling up.
 */
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { once } from 'node:events'

export class DeafClient implements Disposable {
  readonly #socket: Socket

  private constructor(socket: Socket) {
    this.#socket = socket
  }

  /** `address` is host:port. Requests this many change sets at once. */
  static async connect(address: string, node: string, requests: number): Promise<DeafClient> {
    const [host = '', port = ''] = address.split(':')
    const socket = connect(Number(port), host)
    socket.on('error', () => {}) // the server closes the connection
    socket.pause()
    await once(socket, 'connect')
    socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), settings, connectionWindow, headers]))
    const message = Buffer.concat([Buffer.from([0x0a, node.length]), Buffer.from(node)])
    const request = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message])
    for (let i = 0; i < requests; i++) socket.write(frame(frameData, 0, 1, request))
    return new DeafClient(socket)
  }

  [Symbol.dispose](): void {
    this.#socket.destroy()
  }
}

const frameData = 0
const frameHeaders = 1
const frameSettings = 4
const frameWindowUpdate = 8
const endOfHeaders = 4
const unlimited = 0x7fff_ffff

const settings = frame(frameSettings, 0, 0, Buffer.concat([Buffer.from([0, 4]), uint32(unlimited)]))
const connectionWindow = frame(frameWindowUpdate, 0, 0, uint32(unlimited - 0xffff))
const headers = frame(
  frameHeaders,
  endOfHeaders,
  1,
  Buffer.concat(
    Object.entries({
      ':method': 'POST',
      ':scheme': 'http',
      ':path': '/localv1.Sets/Watch',
      ':authority': 'core',
      'content-type': 'application/grpc',
    }).flatMap(([name, value]) => [
      // Neither compressed nor kept in the header table.
      Buffer.from([0, name.length, ...Buffer.from(name), value.length, ...Buffer.from(value)]),
    ]),
  ),
)

function frame(kind: number, flags: number, stream: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(5)
  header.writeUIntBE(payload.length, 0, 3)
  header[3] = kind
  header[4] = flags
  return Buffer.concat([header, uint32(stream), payload])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
