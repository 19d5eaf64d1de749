/**
 * The real servers of all virtual servers at once, from `/proc/net/ip_vs`. Netlink cannot list them all at once. The file
 * does not show all flags of a virtual server, so the virtual servers come from netlink.
 *
 *     Prot LocalAddress:Port Scheduler Flags
 *       -> RemoteAddress:Port Forward Weight ActiveConn InActConn
 *     TCP  0A60000A:0050 rr
 *       -> 0A400001:1F90      Masq    1      0          0
 *     TCP  [fd00:0096:0000:0000:0000:0000:0000:0010]:0050 sh persistent 10800 128
 */
import { readFile } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parseIp } from '../../net/ip.ts'
import { serverKey } from './ipvs.ts'
import type { ListedRealServer, ServerAddress } from './ipvs.ts'

/** By `serverKey` of the virtual server. Returns nothing where the file cannot be read. */
export type ReadRealServerTable = (
  signal: AbortSignal,
) => Promise<ReadonlyMap<string, readonly ListedRealServer[]> | undefined>

export const procRealServerTable: ReadRealServerTable = async (signal) => {
  let text: string
  try {
    text = await readFile('/proc/net/ip_vs', { encoding: 'latin1', signal })
  } catch {
    signal.throwIfAborted()
    return undefined
  }
  return parseRealServerTable(text)
}

/** This many lines take a few milliseconds; then the event loop gets a turn. */
const linesPerTurn = 10_000

export async function parseRealServerTable(text: string): Promise<ReadonlyMap<string, readonly ListedRealServer[]>> {
  const realServersByKey = new Map<string, ListedRealServer[]>()
  let current: ListedRealServer[] | undefined
  let lines = 0
  for (let at = 0; at < text.length;) {
    const newline = text.indexOf('\n', at)
    const end = newline < 0 ? text.length : newline
    const words = text.slice(at, end).trim().split(/ +/)
    at = end + 1
    const server = parseServer(words)
    if (server !== undefined) realServersByKey.set(serverKey(server), (current = []))
    else if (words[0] !== '->')
      current = undefined // a server for a firewall mark, or a headline
    else {
      const realServer = parseRealServer(words)
      if (realServer !== undefined) current?.push(realServer)
    }
    if (++lines % linesPerTurn === 0) await nextTurn()
  }
  return realServersByKey
}

function parseServer([protocol, place = '']: readonly string[]): ServerAddress | undefined {
  if (protocol !== 'TCP' && protocol !== 'UDP' && protocol !== 'SCTP') return undefined
  const address = parseAddress(place)
  return address && { ...address, protocol }
}

function parseRealServer([, place = '', , weight, active, inactive]: readonly string[]): ListedRealServer | undefined {
  const address = parseAddress(place)
  if (address === undefined) return undefined
  return {
    ...address,
    weight: Number(weight),
    activeConnections: Number(active),
    inactiveConnections: Number(inactive),
  }
}

/** All digits are hexadecimal: `0A60000A:0050`, or `[fd00:0096:…:0010]:0050`. */
function parseAddress(text: string): { readonly ip: string; readonly port: number } | undefined {
  const colon = text.lastIndexOf(':')
  const port = Number.parseInt(text.slice(colon + 1), 16)
  const ip = text.startsWith('[') ? parseIp(text.slice(1, colon - 1)) : parseHexV4(text.slice(0, colon))
  return ip === undefined || Number.isNaN(port) ? undefined : { ip, port }
}

function parseHexV4(digits: string): string | undefined {
  if (!/^[0-9A-F]{8}$/i.test(digits)) return undefined
  const value = Number.parseInt(digits, 16)
  return `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}`
}
