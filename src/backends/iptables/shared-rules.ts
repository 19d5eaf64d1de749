/** The rules of one Service port in chains that all Services share: its addresses, and what has no endpoint. */
import type { Match, Rule, Target } from '../../dataplane/iptables/language/rule.ts'
import { comment, jump } from '../../dataplane/iptables/language/rule.ts'
import type { ServiceFacts } from './service-facts.ts'
import type { IptablesSettings } from './settings.ts'
import { counterNames } from '../../dataplane/iptables/language/counters.ts'
import { loopbackRange } from '../../dataplane/iptables/language/masquerade-chains.ts'
import { topChains } from '../../dataplane/iptables/language/kube-chains.ts'
import type { SharedRule } from '../../dataplane/iptables/language/rendered-rules.ts'

export function sharedRules(facts: ServiceFacts, settings: IptablesSettings): readonly SharedRule[] {
  const { route } = facts
  return [
    ...clusterIpRules(facts),
    ...route.externalIPs.flatMap((ip) => externalIpRules(facts, ip)),
    ...route.loadBalancerIPs.flatMap((ip) => loadBalancerIpRules(facts, ip)),
    ...(facts.hasExternal ? [] : route.loadBalancerIPs.map((ip) => unservedAddress(facts, ip))),
    ...(route.nodePort === 0 ? [] : nodePortRules(facts, settings)),
    ...healthCheckRules(facts),
  ]
}

function clusterIpRules(facts: ServiceFacts): readonly SharedRule[] {
  const { name, route, hasInternal, internalChain } = facts
  const address = addressed(facts, route.clusterIP)
  if (hasInternal) return [inServices([comment(`${name} cluster IP`), address], jump(internalChain))]
  return [{ table: 'filter', chain: topChains.services, rule: unserved(facts, [address]) }]
}

function externalIpRules(facts: ServiceFacts, ip: string): readonly SharedRule[] {
  const rules: SharedRule[] = []
  const matches = [comment(`${facts.name} external IP`), addressed(facts, ip)]
  if (facts.route.hasUsableEndpoint) rules.push(inServices(matches, jump(facts.chains.external)))
  if (!facts.hasExternal) rules.push(unservedAddress(facts, ip))
  return rules
}

function loadBalancerIpRules(facts: ServiceFacts, ip: string): readonly SharedRule[] {
  const { name, route, chains, usesFirewallChain } = facts
  const rules: SharedRule[] = []
  const entry = usesFirewallChain ? chains.firewall : chains.external
  const address = addressed(facts, ip)
  if (route.hasUsableEndpoint) rules.push(inServices([comment(`${name} loadbalancer IP`), address], jump(entry)))
  if (usesFirewallChain)
    rules.push({
      table: 'filter',
      chain: topChains.proxyFirewall,
      rule: {
        matches: [comment(`${name} traffic not accepted by ${chains.firewall}`), address],
        target: { kind: 'drop' },
      },
    })
  return rules
}

function nodePortRules(facts: ServiceFacts, settings: IptablesSettings): readonly SharedRule[] {
  const { name, route, chains } = facts
  const { protocol, nodePort } = route
  const rules: SharedRule[] = []
  const toNodePort = (matches: readonly Match[]): SharedRule => ({
    table: 'nat',
    chain: topChains.nodePorts,
    rule: { matches: [comment(name), ...matches], target: jump(chains.external) },
  })
  if (route.hasUsableEndpoint) {
    // Counted apart, so that operators see whether anybody still uses node ports on localhost.
    if (settings.hasLocalhostNodePorts && settings.counters.localhostAccepted)
      rules.push(
        toNodePort([
          { kind: 'traffic', protocol, destination: loopbackRange.ipv4, destinationPort: nodePort },
          { kind: 'counter', name: counterNames.localhostAccepted },
        ]),
      )
    rules.push(toNodePort([{ kind: 'traffic', protocol, destinationPort: nodePort }]))
  }
  if (!facts.hasExternal) {
    const local: Match = { kind: 'local-address', end: 'destination' }
    const traffic: Match = { kind: 'traffic', protocol, destinationPort: nodePort }
    rules.push({ table: 'filter', chain: topChains.externalServices, rule: unserved(facts, [local, traffic]) })
  }
  return rules
}

/** Health checks of load balancers must pass whatever the rest of the firewall says. They are always TCP. */
function healthCheckRules({ name, route }: ServiceFacts): readonly SharedRule[] {
  if (route.healthCheckNodePort === 0) return []
  const traffic: Match = { kind: 'traffic', protocol: 'TCP', destinationPort: route.healthCheckNodePort }
  const rule: Rule = { matches: [comment(`${name} health check node port`), traffic], target: { kind: 'accept' } }
  return [{ table: 'filter', chain: topChains.nodePorts, rule }]
}

function unservedAddress(facts: ServiceFacts, ip: string): SharedRule {
  return { table: 'filter', chain: topChains.externalServices, rule: unserved(facts, [addressed(facts, ip)]) }
}

/** Reject when nobody can serve; drop when others can, because then the client should try again. */
function unserved({ name, route }: ServiceFacts, matches: readonly Match[]): Rule {
  return route.hasUsableEndpoint
    ? { matches: [comment(`${name} has no local endpoints`), ...matches], target: { kind: 'drop' } }
    : { matches: [comment(`${name} has no endpoints`), ...matches], target: { kind: 'reject' } }
}

function addressed({ route }: ServiceFacts, destination: string): Match {
  return { kind: 'traffic', protocol: route.protocol, destination, destinationPort: route.port }
}

function inServices(matches: readonly Match[], target: Target): SharedRule {
  return { table: 'nat', chain: topChains.services, rule: { matches, target } }
}
