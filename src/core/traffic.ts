/** What a Service port, or one of its endpoints, has carried. A mode leaves out what it cannot know. */

/** All but what is `open`, and `lastUsedMs`, only grow, as long as the route is there. */
export interface Traffic {
  /** New connections. For UDP, one for each client address and port until it goes idle. */
  readonly connections?: number
  /** Open now. */
  readonly open?: number
  /** What those have carried that are open now, where nobody knows what the others did. */
  readonly openBytesIn?: number
  readonly openBytesOut?: number
  /** From clients. */
  readonly bytesIn?: number
  /** To clients. */
  readonly bytesOut?: number
  /** Attempts to reach an endpoint that failed. */
  readonly dialFailures?: number
  /** How long the connections lasted that have ended, added up. */
  readonly seconds?: number
  /** When the last connection came, on the wall clock. */
  readonly lastUsedMs?: number
}

export interface RouteTraffic extends Traffic {
  /** Connections that no endpoint saw, by the reason; `no-endpoint` is the one that every mode may know. */
  readonly turnedAway?: Readonly<Record<string, number>>
  /** Connections that a limit of the Service acted on, by what became of them. */
  readonly limited?: Readonly<Record<string, number>>
  /** By `ip:port`, as in `Endpoint.address`. One that is gone may be there as long as it has open connections. */
  readonly endpoints?: ReadonlyMap<string, Traffic>
}

const growing = ['connections', 'bytesIn', 'bytesOut', 'dialFailures', 'seconds'] as const
const numbers = [...growing, 'open', 'openBytesIn', 'openBytesOut'] as const

/** What several parts have carried together. What no part knows stays unknown. */
export function addTraffic(...parts: readonly (RouteTraffic | undefined)[]): RouteTraffic {
  return parts.reduce<RouteTraffic>((total, part) => (part === undefined ? total : sumOf(total, part)), {})
}

/** Nothing is open any more; what was counted stays. */
export function withoutOpen({ endpoints, ...traffic }: RouteTraffic): RouteTraffic {
  const ended = ({ openBytesIn: _in, openBytesOut: _out, ...one }: Traffic): Traffic =>
    one.open === undefined ? one : { ...one, open: 0 }
  if (endpoints === undefined) return ended(traffic)
  return { ...ended(traffic), endpoints: new Map([...endpoints].map(([address, one]) => [address, ended(one)])) }
}

/** What only grows does not fall below what was told before. */
export function notLessThan(before: RouteTraffic | undefined, now: RouteTraffic): RouteTraffic {
  if (before === undefined) return now
  const { turnedAway, limited, endpoints } = now
  return {
    ...now,
    ...mostOf(growing, before, now),
    ...(turnedAway && { turnedAway: mostOf(Object.keys(turnedAway), before.turnedAway ?? {}, turnedAway) }),
    ...(limited && { limited: mostOf(Object.keys(limited), before.limited ?? {}, limited) }),
    ...(endpoints && {
      endpoints: new Map(
        [...endpoints].map(([address, one]) => [address, notLessThan(before.endpoints?.get(address), one)]),
      ),
    }),
  }
}

/** Of those that `now` knows. */
function mostOf<Name extends string>(
  names: readonly Name[],
  before: Readonly<Partial<Record<Name, number>>>,
  now: Readonly<Partial<Record<Name, number>>>,
): Record<Name, number> {
  const known = names.flatMap((name) => {
    const value = now[name]
    return value === undefined ? [] : [[name, Math.max(value, before[name] ?? 0)] as const]
  })
  return Object.fromEntries(known) as Record<Name, number>
}

function sumOf(a: RouteTraffic, b: RouteTraffic): RouteTraffic {
  const turnedAway = addReasons(a.turnedAway, b.turnedAway)
  const limited = addReasons(a.limited, b.limited)
  const endpoints = addEndpoints(a.endpoints, b.endpoints)
  return {
    ...sumOfNumbers(a, b),
    ...(turnedAway !== undefined && { turnedAway }),
    ...(limited !== undefined && { limited }),
    ...(endpoints !== undefined && { endpoints }),
  }
}

function sumOfNumbers(a: Traffic, b: Traffic): Traffic {
  const sum: { -readonly [Name in keyof Traffic]: Traffic[Name] } = {}
  for (const name of numbers) {
    const value = addKnown(a[name], b[name])
    if (value !== undefined) sum[name] = value
  }
  const lastUsedMs = Math.max(a.lastUsedMs ?? -Infinity, b.lastUsedMs ?? -Infinity)
  if (lastUsedMs > -Infinity) sum.lastUsedMs = lastUsedMs
  return sum
}

function addKnown(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : a + b
}

function addReasons(a: RouteTraffic['turnedAway'], b: RouteTraffic['turnedAway']): RouteTraffic['turnedAway'] {
  if (a === undefined || b === undefined) return a ?? b
  return Object.fromEntries(Object.keys({ ...a, ...b }).map((reason) => [reason, (a[reason] ?? 0) + (b[reason] ?? 0)]))
}

function addEndpoints(a: RouteTraffic['endpoints'], b: RouteTraffic['endpoints']): RouteTraffic['endpoints'] {
  if (a === undefined || b === undefined) return a ?? b
  const sum = new Map(a)
  for (const [address, traffic] of b) sum.set(address, sumOfNumbers(sum.get(address) ?? {}, traffic))
  return sum
}
