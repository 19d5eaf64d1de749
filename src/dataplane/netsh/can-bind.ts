/** Windows lists an address before it can be used: first it asks the network whether another machine has it. */
import { createSocket } from 'node:dgram'
import { familyOf } from '../../net/ip.ts'

export function canBind(ip: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket(familyOf(ip) === 'ipv6' ? 'udp6' : 'udp4')
    const end = (isUsable: boolean) => socket.close(() => resolve(isUsable))
    socket.once('error', () => end(false))
    socket.bind({ address: ip, port: 0, exclusive: true }, () => end(true))
  })
}
