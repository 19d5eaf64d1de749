import type { AddressEntrance, RangeEntrance, Route } from '../../core/route.ts'
import type { Match } from '../../dataplane/iptables/language/rule.ts'

/** What comes for the port of the address, or for its range of ports. */
export function addressTraffic(entrance: AddressEntrance | RangeEntrance, protocol: Route['protocol']): Match {
  const { ip: destination, port: destinationPort } = entrance
  const last = 'lastPort' in entrance ? { lastDestinationPort: entrance.lastPort } : {}
  return { kind: 'traffic', protocol, destination, destinationPort, ...last }
}
