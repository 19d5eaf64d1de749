/** What the demo shows: one table at the start, then a line for each change. */
import { routeName } from '../../core/route.ts'
import { hostPort } from '../../net/ip.ts'
import { renderTable } from '../table.ts'
import type { Served } from './announcing-backend.ts'

export function renderServices(served: readonly Served[]): string {
  const rows = served
    .filter(({ route }) => route !== undefined)
    .sort((left, right) => (left.key < right.key ? -1 : 1))
    .map((it) => [nameOf(it), howToTry(it), endpointsOf(it)])
  return renderTable(['SERVICE', 'TRY', 'ENDPOINTS'], rows)
}

export function renderChange(it: Served): string {
  if (it.route === undefined) return `${nameOf(it)} is gone\n`
  return `${nameOf(it)}: ${howToTry(it)} -> ${endpointsOf(it)}\n`
}

/** Services whose own port somebody else has, so that they listen elsewhere. */
export function renderMovedPorts(served: readonly Served[]): string {
  return served
    .flatMap((it) => {
      const [address] = it.addresses
      const { route } = it
      if (route === undefined || address === undefined || route.port < 1024 || address.port === route.port) return []
      return [`Port ${route.port} of ${nameOf(it)} is in use; it listens on ${address.port} instead.\n`]
    })
    .join('')
}

/** As people write it: the protocol of the key only tells apart what has no name. */
function nameOf({ key, route }: Served): string {
  return route === undefined ? key.replace(/\/[A-Z]+$/, '') : routeName(route)
}

function howToTry({ addresses, problem, route }: Served): string {
  const [address] = addresses
  if (address === undefined) return `not served: ${problem ?? 'no address'}`
  const where = hostPort(address.ip, address.port)
  if (address.protocol === 'TCP') return `curl http://${where}`
  return route?.family === 'ipv6' ? `udp ${where}` : `echo hello | nc -u -w1 ${address.ip} ${address.port}`
}

function endpointsOf({ route }: Served): string {
  const addresses = route?.clusterEndpoints.map(({ address }) => address) ?? []
  if (addresses.length === 0) return 'none: connections are refused'
  return addresses.join(', ') + (route?.affinitySeconds === 0 ? '' : ' (each client keeps one)')
}

export function renderHints({
  kubeconfig,
  metricsAddress,
}: {
  readonly kubeconfig: string
  readonly metricsAddress: string
}): string {
  const kubectl = `kubectl --kubeconfig ${kubeconfig}`
  return `
Change it with kubectl; each change is live at once:
  ${kubectl} get services,endpointslices -A
  ${kubectl} -n shop delete endpointslice web-2
  ${kubectl} -n shop patch service web -p '{"spec":{"sessionAffinity":"ClientIP"}}'

Metrics: curl http://${metricsAddress}/metrics
Stop with Ctrl-C.

`
}
