/** The Host Compute Network over any driver: makes and reads the documents, and asks for no more than it must. */
import { systemClock } from '../../core/clock.ts'
import type { Clock } from '../../core/clock.ts'
import { DriverCalls } from './driver-calls.ts'
import type { MakeCall } from './driver-calls.ts'
import type { HcnDriver, ObjectKind } from './driver.ts'
import { renderEndpoint, renderLoadBalancer, renderQuery } from './documents.ts'
import type { QueryFilter } from './documents.ts'
import { HcnError } from './hcn.ts'
import type { Hcn } from './hcn.ts'
import { objectIn, idIn, parseReply } from './reply-reader.ts'
import { parseEndpoint, parseIds, parseLoadBalancer, parseNetwork, parsePolicyLists, parseVersion } from './replies.ts'

export interface HcnOptions {
  readonly clock?: Clock
  /** For each call. HNS may work for seconds; for the list of all load balancers, for some times that. */
  readonly timeLimitMs: number
}

const words: Readonly<Record<ObjectKind, string>> = {
  Network: 'network',
  Endpoint: 'endpoint',
  LoadBalancer: 'load balancer',
}

export function hcnOverDriver(driver: HcnDriver, { clock = systemClock, timeLimitMs }: HcnOptions): Hcn {
  const calls = new DriverCalls(clock, timeLimitMs)

  const idsOf = async (call: MakeCall, kind: ObjectKind, filter?: QueryFilter) =>
    parseIds(await call(`list ${words[kind]}s`, () => driver.enumerate(kind, renderQuery(filter))))

  /** Undefined: it is gone. */
  const propertiesOf = (call: MakeCall, kind: ObjectKind, id: string, filter?: QueryFilter) =>
    unlessNotFound(call(`read ${words[kind]} ${id}`, () => driver.query(kind, id, renderQuery(filter))))

  /** An empty filter would not mean "the one without a name", so HNS is not asked. */
  const named = async <T>(
    kind: ObjectKind,
    name: string,
    parse: (text: string) => T,
    signal: AbortSignal,
  ): Promise<T | undefined> => {
    if (name === '') return undefined
    return calls.run(signal, async (call) => {
      for (const id of await idsOf(call, kind, { Name: name })) {
        const found = await propertiesOf(call, kind, id, { Name: name })
        if (found !== undefined) return parse(found)
      }
      return undefined
    })
  }

  const loadBalancer = async (call: MakeCall, id: string) => {
    const properties = await propertiesOf(call, 'LoadBalancer', id)
    return properties === undefined ? undefined : parseLoadBalancer(properties)
  }

  const remove = (kind: 'Endpoint' | 'LoadBalancer', id: string, signal: AbortSignal) =>
    calls.run(signal, async (call) => {
      const removal = call(`delete ${words[kind]} ${id}`, () => driver.remove(kind, id).then(() => true))
      return (await unlessNotFound(removal)) === true
    })

  return {
    version: (signal) =>
      calls.run(signal, async (call) =>
        parseVersion(await call('read its version', () => driver.hnsCall('GET', '/globals/version', ''))),
      ),

    networkNamed: (name, signal) => named('Network', name, parseNetwork, signal),

    endpointIds: async (networkId, signal) =>
      networkId === '' ? [] : calls.run(signal, (call) => idsOf(call, 'Endpoint', { VirtualNetwork: networkId })),

    endpoint: (id, signal) =>
      calls.run(signal, async (call) => {
        const found = await propertiesOf(call, 'Endpoint', id)
        return found === undefined ? undefined : parseEndpoint(found)
      }),

    endpointNamed: (name, signal) => named('Endpoint', name, parseEndpoint, signal),

    createEndpoint: (networkId, settings, signal) =>
      calls.run(signal, async (call) =>
        parseEndpoint(
          await call(`create an endpoint for ${settings.ip}`, () =>
            driver.create('Endpoint', renderEndpoint(networkId, settings), networkId),
          ),
        ),
      ),

    deleteEndpoint: (id, signal) => remove('Endpoint', id, signal),

    loadBalancerIds: (signal) => calls.run(signal, (call) => idsOf(call, 'LoadBalancer')),

    loadBalancer: (id, signal) => calls.run(signal, (call) => loadBalancer(call, id)),

    loadBalancers: (signal) =>
      calls.run(signal, async (call) => {
        const found = []
        for (const id of await idsOf(call, 'LoadBalancer')) {
          const balancer = await loadBalancer(call, id)
          if (balancer !== undefined) found.push(balancer)
        }
        return found
      }),

    loadBalancerSummaries: (signal) =>
      calls.run(signal, async (call) =>
        parsePolicyLists(await call('list load balancers', () => driver.hnsCall('GET', '/policylists/', ''), 'large')),
      ),

    createLoadBalancer: (settings, signal) =>
      calls.run(signal, async (call) => {
        const text = await call(`create a load balancer for ${settings.vip ?? 'port'} ${settings.externalPort}`, () =>
          driver.create('LoadBalancer', renderLoadBalancer(settings)),
        )
        return idIn(objectIn(parseReply(text, 'a new load balancer'), 'a new load balancer')['ID'], 'its id')
      }),

    modifyLoadBalancer: (id, settings, signal) =>
      calls.run(signal, async (call) =>
        parseLoadBalancer(
          await call(`change load balancer ${id}`, () => driver.modifyLoadBalancer(id, renderLoadBalancer(settings))),
        ),
      ),

    deleteLoadBalancer: (id, signal) => remove('LoadBalancer', id, signal),
  }
}

async function unlessNotFound<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call
  } catch (error) {
    if (error instanceof HcnError && error.reason === 'not-found') return undefined
    throw error
  }
}
