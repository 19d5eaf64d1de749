/** Writes the input of `ipvsadm -R`, and reads the output of `ipvsadm -Ln --exact`. */
import { hostPort, parseIp } from '../../net/ip.ts'
import { serverFlag, serverKey } from './ipvs.ts'
import type {
  CountedServer,
  IpvsOperation,
  ListedRealServer,
  ListedServer,
  RealServer,
  ServerAddress,
  VirtualServer,
} from './ipvs.ts'

/** Always names the scheduler and NAT (`-m`): the defaults of the tool are others. */
export function renderOperation(operation: IpvsOperation): string {
  const at = placeOf(operation.server)
  switch (operation.kind) {
    case 'add-server':
      return `-A ${at} ${optionsOf(operation.server)}`
    case 'edit-server':
      return `-E ${at} ${optionsOf(operation.server)}`
    case 'delete-server':
      return `-D ${at}`
    case 'add-real-server':
      return `-a ${at} ${realOptions(operation.realServer)}`
    case 'edit-real-server':
      return `-e ${at} ${realOptions(operation.realServer)}`
    case 'delete-real-server':
      return `-d ${at} -r ${hostPort(operation.realServer.ip, operation.realServer.port)}`
    default:
      return operation satisfies never
  }
}

export function parseList(text: string): readonly ListedServer[] {
  const servers: (ListedServer & { readonly realServers: ListedRealServer[] })[] = []
  let current: (typeof servers)[number] | undefined
  for (const line of text.split('\n')) {
    const words = line.trim().split(/ +/)
    const server = parseServer(words)
    if (server !== undefined) servers.push((current = { ...server, realServers: [] }))
    else if (words[0] !== '->')
      current = undefined // a server for a firewall mark, or a headline
    else {
      const realServer = parseRealServer(words)
      if (realServer !== undefined) current?.realServers.push(realServer)
    }
  }
  return servers
}

/** Of `ipvsadm -Ln --stats --exact`; that does not say which connections are open. */
export function parseCounters(text: string): readonly CountedServer[] {
  const servers: (CountedServer & { readonly realServers: CountedServer['realServers'][number][] })[] = []
  for (const line of text.split('\n')) {
    const [first = '', place = '', connections, , , bytesIn, bytesOut] = line.trim().split(/ +/)
    const address = parsePlace(place)
    if (address === undefined || bytesOut === undefined) continue
    const counters = { connections: Number(connections), bytesIn: Number(bytesIn), bytesOut: Number(bytesOut) }
    if (first === 'TCP' || first === 'UDP' || first === 'SCTP')
      servers.push({ ...address, protocol: first, ...counters, realServers: [] })
    else if (first === '->')
      servers.at(-1)?.realServers.push({ ...address, ...counters, activeConnections: 0, inactiveConnections: 0 })
  }
  return servers
}

export function withConnections(
  counted: readonly CountedServer[],
  listed: readonly ListedServer[],
): readonly CountedServer[] {
  const listedByKey = new Map(listed.map((server) => [serverKey(server), server.realServers]))
  return counted.map((server) => {
    const byAddress = new Map(listedByKey.get(serverKey(server))?.map((real) => [hostPort(real.ip, real.port), real]))
    const realServers = server.realServers.map((real) => {
      const { activeConnections = 0, inactiveConnections = 0 } = byAddress.get(hostPort(real.ip, real.port)) ?? {}
      return { ...real, activeConnections, inactiveConnections }
    })
    return { ...server, realServers }
  })
}

const protocolOption = { TCP: '-t', UDP: '-u', SCTP: '--sctp-service' } as const

function placeOf({ ip, port, protocol }: ServerAddress): string {
  return `${protocolOption[protocol]} ${hostPort(ip, port)}`
}

function optionsOf({ scheduler, flags, timeoutSeconds }: VirtualServer): string {
  const names = schedulerFlags.filter(({ bit }) => (flags & bit) !== 0).map(({ name }) => name)
  return [
    `-s ${scheduler}`,
    ...((flags & serverFlag.persistent) === 0 ? [] : [`-p ${timeoutSeconds}`]),
    ...((flags & serverFlag.onePacket) === 0 ? [] : ['-o']),
    ...(names.length === 0 ? [] : [`-b ${names.join(',')}`]),
  ].join(' ')
}

const schedulerFlags = [
  { bit: serverFlag.scheduler1, name: 'flag-1' },
  { bit: serverFlag.scheduler2, name: 'flag-2' },
  { bit: serverFlag.scheduler3, name: 'flag-3' },
] as const

function realOptions({ ip, port, weight }: RealServer): string {
  return `-r ${hostPort(ip, port)} -m -w ${weight}`
}

/** `TCP 10.96.0.10:80 mh (mh-port) persistent 10800`. */
function parseServer([protocol, place = '', scheduler = '', ...more]: readonly string[]): VirtualServer | undefined {
  if (protocol !== 'TCP' && protocol !== 'UDP' && protocol !== 'SCTP') return undefined
  const address = parsePlace(place)
  if (address === undefined) return undefined
  const persistent = more.indexOf('persistent')
  const names = more.find((word) => word.startsWith('('))?.slice(1, -1) ?? ''
  const flags = [
    ...names.split(',').map((name) => flagsByName.get(name) ?? 0),
    more.includes('ops') ? serverFlag.onePacket : 0,
    persistent < 0 ? 0 : serverFlag.persistent,
  ]
  return {
    ...address,
    protocol,
    scheduler,
    flags: flags.reduce((all, flag) => all | flag, 0),
    timeoutSeconds: persistent < 0 ? 0 : Number(more[persistent + 1]),
  }
}

const flagsByName: ReadonlyMap<string, number> = new Map([
  ...schedulerFlags.map(({ bit, name }) => [name, bit] as const),
  ['sh-fallback', serverFlag.scheduler1],
  ['mh-fallback', serverFlag.scheduler1],
  ['sh-port', serverFlag.scheduler2],
  ['mh-port', serverFlag.scheduler2],
])

/** `-> 10.64.0.1:8080 Masq 1 0 0`. */
function parseRealServer([, place = '', , weight, active, inactive]: readonly string[]): ListedRealServer | undefined {
  const address = parsePlace(place)
  if (address === undefined) return undefined
  const [activeConnections, inactiveConnections] = [Number(active), Number(inactive)]
  return { ...address, weight: Number(weight), activeConnections, inactiveConnections }
}

function parsePlace(text: string): { readonly ip: string; readonly port: number } | undefined {
  const [, bracketed, plain, port] = /^(?:\[(.+)\]|([\d.]+)):(\d+)$/.exec(text) ?? []
  const ip = parseIp(bracketed ?? plain ?? '')
  return ip === undefined ? undefined : { ip, port: Number(port) }
}
