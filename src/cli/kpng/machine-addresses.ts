/** A guess at the addresses under which other machines know this one: a KPNG server does not tell a node's addresses. */
import { families } from '../../net/ip.ts'
import type { Interfaces } from '../host/host.ts'

/** Devices that containers and proxies make; their addresses are not the node's. */
const foreignDevice = /^(?:docker|cni|veth|br-|virbr|kube-|nodelocaldns|cali|flannel|cilium|lxc|tunl|wg|dummy)/

/** The first address of each family, IPv4 first. */
export function machineAddresses(interfaces: Interfaces): readonly string[] {
  const addresses = Object.entries(interfaces)
    .filter(([device]) => !foreignDevice.test(device))
    .flatMap(([, infos]) => infos ?? [])
    .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
  return families.flatMap((family) => {
    const found = addresses.find((info) => info.family === (family === 'ipv4' ? 'IPv4' : 'IPv6'))
    return found === undefined ? [] : [found.address]
  })
}
