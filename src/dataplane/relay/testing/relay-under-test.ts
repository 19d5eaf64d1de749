/** One listener on loopback in front of given endpoints: what most tests of a relay start from. */
import { onTestFinished } from 'vitest'
import type { OnConnection } from '../connection-report.ts'
import type {
  ListenerSpec,
  ListenerStats,
  ListenResult,
  PoolSpec,
  Relay,
  RelaySettings,
  SocketAddress,
} from '../relay.ts'

export type MakeRelay = (
  settings: Partial<RelaySettings>,
  told?: { readonly onConnection: OnConnection },
) => Relay | Promise<Relay>

export interface RelayUnderTest {
  readonly relay: Relay
  readonly address: SocketAddress
  stats(this: void): ListenerStats
  /** Sets the listener again, with other endpoints or another part of the spec. */
  change(this: void, endpoints: Endpoints, part?: SpecParts): Promise<ListenResult>
}

export type Endpoints = readonly { readonly address: SocketAddress }[]

export type SpecParts = Partial<Omit<ListenerSpec, 'pool'>> & { readonly pool?: Partial<PoolSpec> }

export async function relayTo(
  make: MakeRelay,
  endpoints: Endpoints,
  part: SpecParts = {},
  settings: Partial<RelaySettings> = {},
): Promise<RelayUnderTest> {
  const relay = use(await make(settings))
  const opened = await relay.set(listenerSpec(endpoints, part))
  if (!opened.ok) throw new Error(opened.message)
  return {
    relay,
    address: opened.address,
    stats() {
      const stats = relay.stats().listeners.find((listener) => listener.id === (part.id ?? 'web'))
      if (stats === undefined) throw new Error('the listener is gone')
      return stats
    },
    change: (others, otherPart = {}) =>
      relay.set(listenerSpec(others, { ...part, ...otherPart, pool: { ...part.pool, ...otherPart.pool } })),
  }
}

export function listenerSpec(endpoints: Endpoints, { pool, ...part }: SpecParts = {}): ListenerSpec {
  return {
    id: 'web',
    protocol: 'TCP',
    address: { ip: '127.0.0.1', port: 0 },
    allowedSources: [],
    ...part,
    pool: {
      id: 'web',
      service: 'shop/web:http',
      endpoints: endpoints.map((endpoint) => endpoint.address),
      affinitySeconds: 0,
      whenEmpty: 'refuse',
      ...pool,
    },
  }
}

/** Disposes it when the test is over. */
export function use<T extends AsyncDisposable>(resource: T): T {
  onTestFinished(() => resource[Symbol.asyncDispose]())
  return resource
}
