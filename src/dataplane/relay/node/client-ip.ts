import { parseIp } from '../../../net/ip.ts'

/** The canonical address behind what a socket reports: IPv4 stays IPv4, and the zone of a link-local address goes. */
export function clientIp(reported: string): string {
  return parseIp(reported.split('%', 1)[0] ?? '') ?? reported
}
