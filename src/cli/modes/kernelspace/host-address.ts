/** The node's own address in an overlay network, and the hardware address behind it. */
import { isLoopback, isUnspecified, parseIp } from '../../../net/ip.ts'
import { specialAddress } from '../../../net/special-addresses.ts'
import type { Interfaces } from '../../host/host.ts'
import { cannotRun } from './check-hns.ts'

const noMac = '00:00:00:00:00:00'

/** Where the Node has no address: the first of this machine that others may reach, of the same family if there is one. */
export function hostAddress(nodeIp: string, interfaces: Interfaces): string {
  if (!isUnspecified(nodeIp) && !isLoopback(nodeIp)) return nodeIp
  const usable = addressesOf(interfaces).filter(({ ip, internal }) => !internal && specialAddress(ip) === undefined)
  const isV6 = nodeIp.includes(':')
  const found = usable.find(({ ip }) => ip.includes(':') === isV6) ?? usable[0]
  if (found !== undefined) return found.ip
  throw cannotRun(`this node has no address: give it with --node-address or --bind-address`)
}

export function hostMac(ip: string, interfaces: Interfaces): string {
  const mac = addressesOf(interfaces)
    .findLast((address) => address.ip === ip)
    ?.mac.toLowerCase()
  if (mac !== undefined && mac !== '' && mac !== noMac) return mac
  throw cannotRun(
    `could not find host mac address for ${ip}: it must be an address of this machine, see Get-NetIPAddress; ` +
      'give another one with --bind-address',
  )
}

function addressesOf(interfaces: Interfaces) {
  return Object.values(interfaces).flatMap((addresses) =>
    (addresses ?? []).map(({ address, mac, internal }) => ({ ip: parseIp(address) ?? address, mac, internal })),
  )
}
