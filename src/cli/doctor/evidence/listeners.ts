/** Sockets of this network that wait for clients, from /proc/net. */
import type { RunningProcess } from '../../../host/processes.ts'
import { parseIp } from '../../../net/ip.ts'
import type { Host } from '../../host/host.ts'
import { CannotLook } from '../evidence.ts'

export interface Listener {
  readonly protocol: 'TCP' | 'UDP'
  /** `0.0.0.0` and `::` for all. */
  readonly ip: string
  readonly port: number
  readonly inode: string
  /** Undefined: a process that this one cannot see. */
  readonly owner: Pick<RunningProcess, 'pid' | 'args'> | undefined
}

const files = [
  { path: '/proc/net/tcp', protocol: 'TCP' },
  { path: '/proc/net/tcp6', protocol: 'TCP' },
  { path: '/proc/net/udp', protocol: 'UDP' },
  { path: '/proc/net/udp6', protocol: 'UDP' },
] as const

export async function readListeners(
  host: Pick<Host, 'readTextFile'>,
  processes: readonly RunningProcess[],
): Promise<readonly Listener[]> {
  const ownersByInode = new Map<string, RunningProcess>()
  for (const process of processes) for (const inode of process.sockets ?? []) ownersByInode.set(inode, process)
  const found = await Promise.all(
    files.map(async ({ path, protocol }) => {
      // A kernel without IPv6 has no such file.
      const text = await host.readTextFile(path).catch((error: unknown) => {
        if (!path.endsWith('6')) throw new CannotLook(`${path}: ${(error as Error).message}`, 'Mount /proc.')
        return ''
      })
      return parseSockets(text, protocol).map((socket) => ({ ...socket, owner: ownersByInode.get(socket.inode) }))
    }),
  )
  return found.flat()
}

const listening = { TCP: '0A', UDP: '07' } as const

/** Lines such as `0: 0100007F:2809 00000000:0000 0A …`; a UDP socket that is connected to nobody waits for anybody. */
export function parseSockets(text: string, protocol: 'TCP' | 'UDP'): readonly Omit<Listener, 'owner'>[] {
  return text.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/)
    const [address = '', port = ''] = local.split(':')
    const ip = addressIn(address)
    if (state !== listening[protocol] || ip === undefined) return []
    return [{ protocol, ip, port: Number.parseInt(port, 16), inode }]
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
