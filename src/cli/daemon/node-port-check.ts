/** Warns of node ports that nobody can reach: otherwise nothing shows it, because nothing fails. */
import { matchingAddresses, nodePortAddresses } from '../../core/node/node-port-addresses.ts'
import type { Family } from '../../net/ip.ts'

/** Says for which families the machine has none of the addresses that node ports shall be open on. */
export function closedNodePortWarnings(
  /** CIDRs, with `primary` already replaced. */
  wanted: readonly string[],
  families: readonly Family[],
  localIps: readonly string[],
): readonly string[] {
  return families.flatMap((family) => {
    const addresses = nodePortAddresses(wanted, family)
    if (addresses.matchesAll || matchingAddresses(addresses, localIps).length > 0) return []
    const cidrs = addresses.cidrs.map(({ network, prefixLength }) => `${network}/${prefixLength}`).join(', ')
    return [
      `no address of this machine is in nodePortAddresses (${cidrs}): its ${family} node ports are closed; ` +
        `after you add such an address to the machine, restart the proxy`,
    ]
  })
}
