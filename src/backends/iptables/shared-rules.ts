/** The rules of one Service port in chains that all Services share: its entrances, open or refused. */
import type { AddressEntrance, Entrance, NodePortEntrance, Outcome, Route } from '../../core/route.ts'
import { counterNames } from '../../dataplane/iptables/language/counters.ts'
import { topChains } from '../../dataplane/iptables/language/kube-chains.ts'
import { loopbackRange } from '../../dataplane/iptables/language/masquerade-chains.ts'
import type { SharedRule } from '../../dataplane/iptables/language/rendered-rules.ts'
import { comment, jump } from '../../dataplane/iptables/language/rule.ts'
import type { Match, Rule, Target } from '../../dataplane/iptables/language/rule.ts'
import { addressTraffic } from './address-traffic.ts'
import type { ServiceChainNames } from './chain-names.ts'
import type { IptablesSettings } from './settings.ts'

export function sharedRules(route: Route, names: ServiceChainNames, settings: IptablesSettings): readonly SharedRule[] {
  const rules: SharedRule[] = []
  for (const entrance of route.entrances) rules.push(...entranceRules(entrance, route, names, settings))
  for (const range of route.ranges ?? []) rules.push(...entranceRules(range, route, names, settings))
  rules.push(...healthCheckRules(route, names))
  return rules
}

function entranceRules(
  entrance: Entrance,
  route: Route,
  names: ServiceChainNames,
  settings: IptablesSettings,
): readonly SharedRule[] {
  if (entrance.kind === 'cluster-ip') return [clusterIpRule(entrance, route, names)]
  const { outside } = entrance
  const rules: SharedRule[] = []
  // A client outside may be dropped while one inside is served, so such an entrance is open, too.
  if (outside.kind !== 'reject')
    rules.push(
      ...(entrance.kind === 'node-port'
        ? openNodePort(entrance, route, names, settings)
        : openAddress(entrance, route, names)),
    )
  if (outside.kind !== 'forward')
    rules.push({
      table: 'filter',
      chain: topChains.externalServices,
      rule: unserved(outside, names, destinationOf(entrance, route)),
    })
  return rules
}

function clusterIpRule(entrance: AddressEntrance, route: Route, names: ServiceChainNames): SharedRule {
  const address = destinationOf(entrance, route)
  const { inside } = entrance
  return inside.kind === 'forward'
    ? inServices([comment(`${names.service} cluster IP`), ...address], jump(names.spreading(inside.policy)))
    : { table: 'filter', chain: topChains.services, rule: unserved(inside, names, address) }
}

function openAddress(entrance: AddressEntrance, route: Route, names: ServiceChainNames): readonly SharedRule[] {
  const address = destinationOf(entrance, route)
  const what = entrance.kind === 'load-balancer-ip' ? 'loadbalancer IP' : 'external IP'
  const matches = [comment(`${names.service} ${what}`), ...address]
  if (entrance.allowed === undefined) return [inServices(matches, jump(names.external))]
  const note = comment(`${names.service} traffic not accepted by ${names.firewall}`)
  return [
    inServices(matches, jump(names.firewall)),
    {
      table: 'filter',
      chain: topChains.proxyFirewall,
      rule: { matches: [note, ...address], target: { kind: 'drop' } },
    },
  ]
}

function openNodePort(
  { port }: NodePortEntrance,
  { protocol }: Route,
  names: ServiceChainNames,
  { hasLocalhostNodePorts, counters }: IptablesSettings,
): readonly SharedRule[] {
  const open = (...matches: readonly Match[]): SharedRule => ({
    table: 'nat',
    chain: topChains.nodePorts,
    rule: { matches: [comment(names.service), ...matches], target: jump(names.external) },
  })
  const everywhere = open({ kind: 'traffic', protocol, destinationPort: port })
  if (!hasLocalhostNodePorts || !counters.localhostAccepted) return [everywhere]
  // Counted apart, so that operators see whether anybody still uses node ports on localhost.
  const onLocalhost = open(
    { kind: 'traffic', protocol, destination: loopbackRange.ipv4, destinationPort: port },
    { kind: 'counter', name: counterNames.localhostAccepted },
  )
  return [onLocalhost, everywhere]
}

/** Health checks of load balancers must pass whatever the rest of the firewall says. They are always TCP. */
function healthCheckRules(route: Route, { service }: ServiceChainNames): readonly SharedRule[] {
  if (route.healthCheckNodePort === undefined) return []
  const traffic: Match = { kind: 'traffic', protocol: 'TCP', destinationPort: route.healthCheckNodePort }
  const rule: Rule = { matches: [comment(`${service} health check node port`), traffic], target: { kind: 'accept' } }
  return [{ table: 'filter', chain: topChains.nodePorts, rule }]
}

function unserved(
  { kind }: Exclude<Outcome, { kind: 'forward' }>,
  { service }: ServiceChainNames,
  matches: readonly Match[],
): Rule {
  const why = kind === 'drop' ? 'has no local endpoints' : 'has no endpoints'
  return { matches: [comment(`${service} ${why}`), ...matches], target: { kind } }
}

function destinationOf(entrance: Entrance, { protocol }: Route): readonly Match[] {
  const { port: destinationPort } = entrance
  return entrance.kind === 'node-port'
    ? [
        { kind: 'local-address', end: 'destination' },
        { kind: 'traffic', protocol, destinationPort },
      ]
    : [addressTraffic(entrance, protocol)]
}

function inServices(matches: readonly Match[], target: Target): SharedRule {
  return { table: 'nat', chain: topChains.services, rule: { matches, target } }
}
