/** A listener as text for people: why it is there, where it listens, and who serves behind it. */
import type { KeptClients, PoolEndpoint, PoolLimits } from '../../dataplane/relay/relay.ts'
import { hostPort } from '../../net/ip.ts'
import type { PlannedListener } from './plan.ts'

export function describeListener({ purpose, ip, allowedSources, keeps, pool }: PlannedListener, port: number): string {
  const endpoints = pool.endpoints.map(describeEndpoint).join(' ') || 'nobody'
  const from = allowedSources.map(({ network, prefixLength }) => `${network}/${prefixLength}`).join(' ')
  const notes = [
    ...(keeps === undefined ? [] : [keepingNotes[keeps.of]]),
    ...(from === '' ? [] : [`only from ${from}`]),
    ...(pool.balancing === undefined ? [] : [pool.balancing]),
    ...(pool.endpoints.some(({ weight }) => weight !== undefined)
      ? [`weights ${pool.endpoints.map(({ weight = 1 }) => weight).join(' ')}`]
      : []),
    ...limitNotes(pool.limits),
    ...(pool.maxConnectionAgeMs === undefined ? [] : [`connections of at most ${pool.maxConnectionAgeMs / 1000} s`]),
    ...(pool.affinitySeconds > 0 ? [`client affinity ${pool.affinitySeconds} s`] : []),
  ]
  const note = notes.length === 0 ? '' : ` (${notes.join('; ')})`
  return `${purpose} ${hostPort(ip, port)} -> ${endpoints}${note}`
}

function limitNotes(limits: PoolLimits | undefined): readonly string[] {
  if (limits === undefined) return []
  const { connections, connectionsPerEndpoint, dialsPerSecond, dialsPerSecondPerEndpoint } = limits
  const told = [
    [connections, 'connections'],
    [connectionsPerEndpoint, 'connections to each endpoint'],
    [dialsPerSecond, 'dials per second'],
    [dialsPerSecondPerEndpoint, 'dials per second to each endpoint'],
  ] as const
  return told.flatMap(([most, what]) => (most === undefined ? [] : [`at most ${most} ${what}`]))
}

const keepingNotes: Readonly<Record<KeptClients['of'], string>> = {
  pods: 'pods keep their address',
  everybody: 'clients keep their address',
}

export function describeEndpoint({ ip, port }: PoolEndpoint): string {
  return hostPort(ip, port)
}
