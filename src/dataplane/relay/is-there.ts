import type { ListenerSpec, SocketAddress } from './relay.ts'

/** Whether a listener is where it is wanted. One that took any free port is where a call for that very port wants it. */
export function isThere(protocol: ListenerSpec['protocol'], address: SocketAddress, wanted: ListenerSpec): boolean {
  const isSamePort = wanted.address.port === 0 || wanted.address.port === address.port
  return protocol === wanted.protocol && address.ip === wanted.address.ip && isSamePort
}
