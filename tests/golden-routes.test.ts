/**
 * The brain against kube-proxy 1.36: for each recorded scenario, the routes must name the same addresses, endpoints and
 * affinity as the virtual servers that kube-proxy's ipvs mode programmed, and drop or reject where its nftables mode did.
 */
import { expect, test } from 'vitest'
import type { Endpoint, Outcome, Route } from '../src/core/route.ts'
import { families, hostPort, isLoopback } from '../src/net/ip.ts'
import { golden, scenarioNames } from './testing/golden-scenarios.ts'
import { nodeIps, scenarioView } from './testing/scenario-view.ts'

async function routesOf(scenario: string): Promise<readonly Route[]> {
  const views = await Promise.all(families.map((family) => scenarioView(scenario, family)))
  return views.flatMap(({ routesByKey }) => [...routesByKey.values()])
}

interface Destination {
  readonly protocol: string
  readonly ip: string
  readonly port: number
  readonly outcome: Outcome
  readonly affinitySeconds: number | undefined
  /** What kube-proxy's ipvs mode keeps here for traffic of the node itself when the policy leaves nothing. */
  readonly spare: readonly Endpoint[]
}

/** Every address that traffic for the route can have. */
function destinationsOf(route: Route, localIps: readonly string[]): Destination[] {
  const { affinitySeconds, clusterEndpoints, entrances } = route
  const protocol = route.protocol.toLowerCase()
  return entrances.flatMap((entrance) => {
    const { kind, port, outside: outcome } = entrance
    const ips = kind === 'node-port' ? localIps : [entrance.ip]
    const spare = kind === 'cluster-ip' ? [] : clusterEndpoints
    return ips.map((ip) => ({ protocol, affinitySeconds, ip, port, outcome, spare }))
  })
}

function renderVirtualServer({ protocol, ip, port, outcome, affinitySeconds, spare }: Destination): string {
  const endpoints = (outcome.kind === 'forward' ? outcome.to : spare).map(({ address }) => address).sort()
  const affinity = affinitySeconds === undefined ? '' : ` for ${affinitySeconds} s`
  return `${protocol} ${hostPort(ip, port)} -> ${endpoints.join(' ')}${affinity}`
}

const protocolByFlag: Readonly<Record<string, string>> = { t: 'tcp', u: 'udp', '-sctp-service': 'sctp' }

/** Reads `ipvsadm -Sn`. */
function virtualServers(text: string): string[] {
  const servers = new Map<string, { endpoints: string[]; affinity: string }>()
  for (const line of text.trim().split('\n')) {
    const [, verb, flag = '', address = ''] = /^-(A|a) -(t|u|-sctp-service) (\S+)/.exec(line) ?? []
    const id = `${protocolByFlag[flag]} ${address}`
    const persistence = / -p (\d+)/.exec(line)?.[1]
    if (verb === 'A')
      servers.set(id, { endpoints: [], affinity: persistence === undefined ? '' : ` for ${persistence} s` })
    const real = / -r (\S+)/.exec(line)?.[1]
    if (verb === 'a' && real !== undefined) servers.get(id)?.endpoints.push(real)
  }
  return [...servers].map(([id, { endpoints, affinity }]) => `${id} -> ${endpoints.sort().join(' ')}${affinity}`).sort()
}

/** Reads the verdict map that holds the destinations without endpoints. */
function withoutEndpoints(ruleset: string): string[] {
  const body = /map no-endpoint-services \{[^}]*?elements = \{([^}]*)\}/.exec(ruleset)?.[1] ?? ''
  const element = /(\S+) \. (\w+) \. (\d+)\s*(?:comment "[^"]*" )?: (?:goto|jump)?\s*(\w+)/g
  return [...body.matchAll(element)]
    .map(([, ip = '', protocol = '', port = '', verdict]) => `${protocol} ${hostPort(ip, Number(port))} ${verdict}`)
    .sort()
}

test.each(scenarioNames)('"%s" is routed as kube-proxy routes it', async (scenario) => {
  const recorded = golden(scenario, 'ipvsadm.txt')
  const routes = await routesOf(scenario)
  const local = Object.values(nodeIps).filter((ip) => !isLoopback(ip))
  const ours = routes.flatMap((route) =>
    destinationsOf(
      route,
      local.filter((ip) => ip.includes(':') === (route.family === 'ipv6')),
    ).map(renderVirtualServer),
  )
  expect(ours.sort()).toEqual(virtualServers(recorded))
})

test.each(scenarioNames)('"%s" drops and rejects what kube-proxy does', async (scenario) => {
  const recorded = golden(scenario, 'nft-ruleset.txt')
  const ours = (await routesOf(scenario))
    .flatMap((route) => destinationsOf(route, []))
    .filter(({ outcome }) => outcome.kind !== 'forward')
    .map(({ protocol, ip, port, outcome }) => `${protocol} ${hostPort(ip, port)} ${outcome.kind}`)
  const theirs = [...recorded.matchAll(/table ip6? kube-proxy \{[\s\S]*?\n\}/g)].flatMap(([table]) =>
    withoutEndpoints(table),
  )
  expect(ours.sort()).toEqual(theirs.sort())
})
