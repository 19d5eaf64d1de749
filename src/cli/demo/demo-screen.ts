/** What the demo shows: one table at the start, then a line for each change. */
import { breakWords } from '../../config/flags/break-words.ts'
import { routeName } from '../../core/route.ts'
import { hostPort } from '../../net/ip.ts'
import { renderTable } from '../table.ts'
import { paint } from '../terminal.ts'
import type { Terminal } from '../terminal.ts'
import type { Served } from './announcing-backend.ts'

/** Where to look, before anything else. */
export function renderConsole(url: string, wantedPort: number): string {
  const isElsewhere = wantedPort !== 0 && !url.endsWith(`:${wantedPort}`)
  const moved = isElsewhere ? `Port ${wantedPort} is in use; the console listens elsewhere.\n` : ''
  return `${moved}Open ${url}/ in a browser: see the traffic, and break something.\n\n`
}

export function renderServices(served: readonly Served[], terminal: Terminal): string {
  const rows = served
    .filter(({ route }) => route !== undefined)
    .sort((left, right) => (left.key < right.key ? -1 : 1))
    .map((it) => [nameOf(it), howToTry(it), endpointsOf(it)])
  const table = renderTable(['SERVICE', 'TRY', 'ENDPOINTS'], rows, terminal.columns)
  return table.replace(/^.*/, (header) => paint(terminal, 'bold', header))
}

export function renderChange(it: Served, { columns = Number.POSITIVE_INFINITY }: Terminal): string {
  if (it.route === undefined) return `${nameOf(it)} is gone\n`
  const text = `${nameOf(it)}: ${howToTry(it)} -> ${endpointsOf(it)}`
  return `${breakWords(text, columns - changeIndent.length).join(`\n${changeIndent}`)}\n`
}

const changeIndent = '  '

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

/** Says which node ports are closed, because they would look like a fault otherwise. */
export function renderClosedNodePorts(served: readonly Served[]): string {
  return served
    .flatMap((it) => {
      const { route, addresses } = it
      const nodePort = route?.entrances.find(({ kind }) => kind === 'node-port')?.port
      if (nodePort === undefined || addresses.some(({ port }) => port === nodePort)) return []
      return [`Node port ${nodePort} of ${nameOf(it)} is closed: the demo serves each Service at one port.\n`]
    })
    .join('')
}

/** As people write it, without the protocol that makes a key unique. */
function nameOf({ key, route }: Served): string {
  return route === undefined ? key.replace(/\/[A-Z]+$/, '') : routeName(route)
}

function howToTry({ addresses, problem, route }: Served): string {
  const [address] = addresses
  if (address === undefined) return `not served: ${problem ?? 'no address'}`
  const where = hostPort(address.ip, address.port)
  if (address.protocol === 'TCP') return `curl http://${where}`
  return route?.family === 'ipv6' ? `udp ${where}` : `echo hi | nc -u -w1 ${address.ip} ${address.port}`
}

function endpointsOf({ route }: Served): string {
  const addresses = route?.clusterEndpoints.map(({ address }) => address) ?? []
  // A socket that listens has accepted before it can know; so the client sees a reset, not a refusal.
  if (addresses.length === 0) return route?.protocol === 'UDP' ? 'none: nobody answers' : 'none: connections are reset'
  return addresses.join(', ') + (route?.affinitySeconds === undefined ? '' : ' (each client keeps one)')
}

export function renderHints({
  kubeconfig,
  manifests,
  metricsAddress,
}: {
  readonly kubeconfig: string
  readonly manifests: string
  readonly metricsAddress: string
}): string {
  return `
Change it with kubectl, in another terminal; each change is live at once:
  export KUBECONFIG=${quoted(kubeconfig)}
  kubectl get services,endpointslices -A
  kubectl -n shop delete endpointslice web-2
  kubectl -n shop patch service web -p '{"spec":{"sessionAffinity":"ClientIP"}}'

Bring back what you deleted or changed:
  kubectl apply -f ${quoted(manifests)}

Metrics: curl http://${metricsAddress}/metrics
Stop with Ctrl-C.

`
}

/** For a shell. */
export function quoted(path: string): string {
  return /^[\w./@%+:,=-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`
}
