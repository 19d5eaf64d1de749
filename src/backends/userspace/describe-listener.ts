/** A listener as text for people: why it is there, where it listens, and who serves behind it. */
import type { PoolEndpoint } from '../../dataplane/relay/relay.ts'
import { hostPort } from '../../net/ip.ts'
import type { PlannedListener } from './plan.ts'

export function describeListener({ purpose, ip, allowedSources, pool }: PlannedListener, port: number): string {
  const endpoints = pool.endpoints.map(describeEndpoint).join(' ') || 'nobody'
  const from = allowedSources.map(({ network, prefixLength }) => `${network}/${prefixLength}`).join(' ')
  const notes = [
    ...(from === '' ? [] : [`only from ${from}`]),
    ...(pool.affinitySeconds > 0 ? [`client affinity ${pool.affinitySeconds} s`] : []),
  ]
  const note = notes.length === 0 ? '' : ` (${notes.join('; ')})`
  return `${purpose} ${hostPort(ip, port)} -> ${endpoints}${note}`
}

export function describeEndpoint({ ip, port, isTransparent }: PoolEndpoint): string {
  return isTransparent === true ? `${hostPort(ip, port)} (sees the client)` : hostPort(ip, port)
}
