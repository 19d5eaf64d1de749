/** Addresses for tests that must name one: on Linux and Windows all of 127.0.0.0/8 is local, so each process takes its own part. */
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'

/** macOS has only 127.0.0.1. */
export const isWholeLoopbackLocal = process.platform === 'linux' || process.platform === 'win32'

export function ownLoopback(host: number): string {
  return `127.${64 + ((process.pid >> 8) % 128)}.${process.pid % 256}.${host}`
}

/** A port that is free on every address. */
export async function freePort(): Promise<number> {
  const server = createServer().listen({ port: 0, host: '0.0.0.0' })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
