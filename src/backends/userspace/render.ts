/** A plan as text: one line per listener, sorted by route. */
import { hostPort } from '../../net/ip.ts'
import { renderCidr } from '../../net/ip.ts'
import type { PlannedListener, RoutePlan } from './plan.ts'

export function renderPlan(plans: readonly RoutePlan[]): string {
  return plans
    .flatMap(({ key, listeners, problem }) => [
      ...listeners.map((listener) => `${key} ${renderListener(listener)}`),
      ...(problem === undefined ? [] : [`${key} not served: ${problem}`]),
    ])
    .map((line) => `${line}\n`)
    .join('')
}

function renderListener({ purpose, ip, ports, allowedSources, pool }: PlannedListener): string {
  const address = ports.map((port) => (port === 0 ? 'any free port' : hostPort(ip, port))).join(' or ')
  const endpoints = pool.endpoints.map((endpoint) => hostPort(endpoint.ip, endpoint.port)).join(' ')
  const parts = [purpose, address, '->', endpoints === '' ? pool.whenEmpty : endpoints]
  if (pool.affinitySeconds > 0) parts.push(`(client affinity ${pool.affinitySeconds} s)`)
  if (allowedSources.length > 0) parts.push(`(only from ${allowedSources.map(renderCidr).join(' ')})`)
  return parts.join(' ')
}
