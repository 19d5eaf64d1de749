/** Sockets of this network that wait for clients, from /proc/net. */
import type { RunningProcess } from '../../../host/processes.ts'
import { parseIp } from '../../../net/ip.ts'
import type { Host } from '../../host/host.ts'
import { CannotLook } from '../evidence.ts'

export interface Listener {
  readonly protocol: 'TCP' | 'UDP' | 'SCTP'
  /** `0.0.0.0` and `::` for all. */
  readonly ip: string
  readonly port: number
  readonly inode: string
  /** Undefined: a process that this one cannot see. */
  readonly owner: Pick<RunningProcess, 'pid' | 'args'> | undefined
}

type Socket = Omit<Listener, 'owner'>

/** A kernel without IPv6 has no `…6`, and one that nobody has asked for SCTP has nothing of it. */
const files: readonly { path: string; mayBeAbsent: boolean; parse: (text: string) => readonly Socket[] }[] = [
  { path: '/proc/net/tcp', mayBeAbsent: false, parse: (text) => parseSockets(text, 'TCP') },
  { path: '/proc/net/tcp6', mayBeAbsent: true, parse: (text) => parseSockets(text, 'TCP') },
  { path: '/proc/net/udp', mayBeAbsent: false, parse: (text) => parseSockets(text, 'UDP') },
  { path: '/proc/net/udp6', mayBeAbsent: true, parse: (text) => parseSockets(text, 'UDP') },
  { path: '/proc/net/sctp/eps', mayBeAbsent: true, parse: parseSctpEndpoints },
]

export async function readListeners(
  host: Pick<Host, 'readTextFile'>,
  processes: readonly RunningProcess[],
): Promise<readonly Listener[]> {
  const ownersByInode = new Map<string, RunningProcess>()
  for (const process of processes) for (const inode of process.sockets ?? []) ownersByInode.set(inode, process)
  const found = await Promise.all(
    files.map(async ({ path, mayBeAbsent, parse }) => {
      const text = await host.readTextFile(path).catch((error: unknown) => {
        if (!mayBeAbsent) throw new CannotLook(`${path}: ${(error as Error).message}`, 'Mount /proc.')
        return ''
      })
      return parse(text).map((socket) => ({ ...socket, owner: ownersByInode.get(socket.inode) }))
    }),
  )
  return found.flat()
}

const listening = { TCP: '0A', UDP: '07' } as const

/** Lines such as `0: 0100007F:2809 00000000:0000 0A …`; a UDP socket that is connected to nobody waits for anybody. */
export function parseSockets(text: string, protocol: 'TCP' | 'UDP'): readonly Socket[] {
  return text.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/)
    const [address = '', port = ''] = local.split(':')
    const ip = addressIn(address)
    if (state !== listening[protocol] || ip === undefined) return []
    return [{ protocol, ip, port: Number.parseInt(port, 16), inode }]
  })
}

const sctpListening = '10'

/** Lines such as `ffff8881 ffff8882 2   10  29   38412     0 41521 10.0.0.5 192.0.2.5`: one socket may have many addresses. */
export function parseSctpEndpoints(text: string): readonly Socket[] {
  return text.split('\n').flatMap((line) => {
    const [, , , state, , port, , inode = '', ...addresses] = line.trim().split(/\s+/)
    if (state !== sctpListening) return []
    return addresses.flatMap((address): Socket | readonly [] => {
      const ip = parseIp(address)
      return ip === undefined ? [] : { protocol: 'SCTP', ip, port: Number(port), inode }
    })
  })
}

/** Words of 32 bits in the byte order of the machine, which is little-endian wherever Fairlead runs. */
function addressIn(hex: string): string | undefined {
  const words = hex.match(/.{8}/g) ?? []
  const bytes = words.flatMap((word) => (word.match(/../g) ?? []).toReversed())
  if (bytes.length === 4) return bytes.map((byte) => Number.parseInt(byte, 16)).join('.')
  if (bytes.length !== 16) return undefined
  const groups = Array.from({ length: 8 }, (_, index) => `${bytes[2 * index]}${bytes[2 * index + 1]}`)
  return parseIp(groups.join(':'))
}
