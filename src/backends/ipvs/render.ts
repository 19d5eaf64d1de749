/** A plan as text for people and tools: the input of ipvsadm, ipset, ip and iptables-restore, for an empty machine. */
import { setIds, ipSetOf } from './ip-sets.ts'
import type { IpSet } from '../../dataplane/ipset/ipset.ts'
import { serverFlag } from '../../dataplane/ipvs/ipvs.ts'
import type { ServerAddress, VirtualServer } from '../../dataplane/ipvs/ipvs.ts'
import type { Protocol } from '../../api/records.ts'
import type { RenderedPart } from '../../core/backend.ts'
import { hostPort } from '../../net/ip.ts'
import { ipvsLink } from './ipvs-link.ts'
import { plannedServer } from './plan.ts'
import type { IpvsPlan } from './plan.ts'
import { differingRules, rulesInput } from './rules-edit.ts'

export function renderPlan(plan: IpvsPlan): readonly RenderedPart[] {
  return [
    { part: 'ipvsadm', text: lines(renderServers(plan)) },
    { part: 'ipset', text: lines(renderSets(plan)) },
    { part: 'addresses', text: lines(renderAddresses(plan)) },
    { part: 'iptables', text: renderRules(plan) },
  ]
}

/** For `ipvsadm --restore`. */
function renderServers(plan: IpvsPlan): readonly string[] {
  const servers = sorted(plan.claimsById).flatMap((id) => plannedServer(plan, id) ?? [])
  return servers.flatMap((server) => {
    const ends = server.endpoints.map(({ address, weight }) => renderRealServer(server, address, weight))
    return [renderServer(server), ...ends.sort()]
  })
}

export function renderServer(server: VirtualServer): string {
  return `-A ${renderAddress(server)} ${renderSpread(server)}`
}

export function renderRealServer(server: ServerAddress, address: string, weight: number): string {
  return `-a ${renderAddress(server)} -r ${address} -m -w ${weight}`
}

function renderAddress({ protocol, ip, port }: ServerAddress): string {
  return `${serverOption[protocol]} ${hostPort(ip, port)}`
}

function renderSpread({ scheduler, flags, timeoutSeconds }: VirtualServer): string {
  const persistence = (flags & serverFlag.persistent) === 0 ? '' : ` -p ${timeoutSeconds}`
  const names = hashFlags.flatMap(({ bit, name }) => ((flags & bit) === 0 ? [] : [`${scheduler}-${name}`]))
  return `-s ${scheduler}${persistence}${names.length === 0 ? '' : ` -b ${names.join(',')}`}`
}

/** Of `sh` and `mh`; we set none of another scheduler. */
const hashFlags = [
  { bit: serverFlag.scheduler1, name: 'fallback' },
  { bit: serverFlag.scheduler2, name: 'port' },
] as const

const serverOption: Readonly<Record<Protocol, string>> = { TCP: '-t', UDP: '-u', SCTP: '--sctp-service' }

/** For `ipset restore`. */
function renderSets(plan: IpvsPlan): readonly string[] {
  const { family } = plan.settings
  const sets = setIds.map((id) => ({ id, set: ipSetOf(id, family) }))
  return [
    ...sets.map(({ set }) => `create ${set.name} ${set.type} ${setParameters(set)}`),
    ...sets.flatMap(({ id, set }) => sorted(plan.entries[id]).map((entry) => `add ${set.name} ${entry}`)),
  ]
}

function setParameters(set: IpSet): string {
  if (set.type === 'bitmap:port') return 'range 0-65535'
  return `family ${set.family === 'ipv4' ? 'inet' : 'inet6'} hashsize 1024 maxelem ${set.maxElements ?? 65_536}`
}

/** For `ip -batch`, once the link is there. */
function renderAddresses({ entries }: IpvsPlan): readonly string[] {
  return sorted(entries.ipvsIps).map(renderLinkAddress)
}

export function renderLinkAddress(ip: string): string {
  return `address add ${ip}/${ip.includes(':') ? 128 : 32} dev ${ipvsLink}`
}

/** For iptables-restore. */
function renderRules(plan: IpvsPlan): string {
  return rulesInput(differingRules(plan, sorted(plan.outRules), { filter: new Map(), nat: new Map() })).render()
}

function sorted<K extends string>(map: { keys(): readonly K[] }): readonly K[] {
  return [...map.keys()].sort()
}

function lines(texts: readonly string[]): string {
  return texts.map((text) => `${text}\n`).join('')
}
