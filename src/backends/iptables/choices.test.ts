import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Endpoint, NonEmpty } from '../../core/route.ts'
import { testEndpoint } from '../../core/testing/routes.ts'
import { renderRule } from '../../dataplane/iptables/language/render-rule.ts'
import { clientHashProgram } from '../../dataplane/iptables/language/client-hash.ts'
import type { Match } from '../../dataplane/iptables/language/rule.ts'
import { headerFrom, isTaken, parseBytecode } from '../../dataplane/iptables/testing/run-bytecode.ts'
import { choicesOf } from './choices.ts'
import type { Choice } from './choices.ts'

const byHash = { family: 'ipv4', traffic: { algorithm: 'source-hash' } } as const
const byHash6 = { ...byHash, family: 'ipv6' } as const
const byChance = { family: 'ipv4', traffic: undefined } as const

function weighted(...weights: readonly number[]): NonEmpty<Endpoint> {
  const [first, ...others] = weights.map((weight, index) => testEndpoint(podIp(index), 8080, { weight }))
  if (first === undefined) throw new Error('no weights')
  return [first, ...others]
}

const podIp = (index: number) => `10.64.${index >> 8}.${index & 255}`
const equal = (count: number) => weighted(...Array.from({ length: count }, () => 1))

/** What part of all connections or clients each endpoint gets, if the dice of the rules are independent of each other. */
function sharesOf(choices: readonly Choice[]): ReadonlyMap<string, number> {
  let left = 1
  return new Map(
    choices.map(({ endpoint, matches }) => {
      const taken = matches.reduce((part, match) => part * partOf(match), left)
      left -= taken
      return [endpoint.ip, taken]
    }),
  )
}

function partOf(match: Match): number {
  if (match.kind === 'chance') return 1 / match.oneIn
  if (match.kind !== 'client-share') throw new Error(`nothing is chosen by ${match.kind}`)
  return match.share
}

/** Who serves a client, by the programs of the rules. */
function chooserOf(choices: readonly Choice[]): (client: string) => Endpoint {
  const programs = choices.map(({ endpoint, matches }) => ({
    endpoint,
    needed: matches.map((match) => {
      if (match.kind !== 'client-share') throw new Error(`no client is chosen by ${match.kind}`)
      return parseBytecode(clientHashProgram(match))
    }),
  }))
  return (client) => {
    const header = headerFrom(client)
    const found = programs.find(({ needed }) => needed.every((program) => isTaken(program, header)))
    if (found === undefined) throw new Error('the last choice must take the rest')
    return found.endpoint
  }
}

test.each([1, 7])('with equal weights (%d) there is nothing but one in so many', (weight) => {
  const oneIn = choicesOf(byChance, weighted(weight, weight, weight)).map(({ matches }) => matches)
  expect(oneIn).toEqual([[{ kind: 'chance', oneIn: 3 }], [{ kind: 'chance', oneIn: 2 }], []])
})

test('where all of them drain, all serve', () => {
  expect(sharesOf(choicesOf(byChance, weighted(0, 0)))).toEqual(new Map([podIp(0), podIp(1)].map((ip) => [ip, 0.5])))
})

const weights = fc.array(fc.integer({ min: 1, max: 1_000 }), { minLength: 1, maxLength: 60 })

test.each([
  { name: 'by chance', how: byChance },
  { name: 'by source-hash', how: byHash },
])('shares follow the weights $name', ({ how }) => {
  fc.assert(
    fc.property(weights, (list) => {
      const endpoints = weighted(...list)
      const sum = list.reduce((total, weight) => total + weight, 0)
      const shares = sharesOf(choicesOf(how, endpoints))
      const errors = endpoints.map(({ ip, weight }) => Math.abs((shares.get(ip) ?? 0) / (weight / sum) - 1))
      expect(Math.max(...errors)).toBeLessThan(1e-9)
    }),
  )
})

test('a rule is short enough for the tools, and its program for the kernel', () => {
  for (const how of [byHash, byHash6]) {
    const [longest = ''] = choicesOf(how, equal(1_000))
      .flatMap(({ matches }) => (matches.length === 0 ? [] : [renderRule({ matches, target: undefined })]))
      .sort((left, right) => right.length - left.length)
    // iptables takes words of up to 1,023 characters.
    expect(longest.length).toBeLessThan(900)
    expect(parseBytecode(/"(.*)"/.exec(longest)?.[1] ?? '').length).toBeLessThanOrEqual(64)
  }
})

test('the rules of three endpoints are what nodes of earlier versions have', () => {
  const lines = choicesOf(byHash, weighted(1, 5, 3)).map(({ endpoint, matches }) =>
    renderRule({ matches, target: { kind: 'dnat', address: endpoint.address } }),
  )
  expect(lines).toMatchInlineSnapshot(`
    [
      "-m bpf --bytecode "16,32 0 0 12,164 0 0 422255792,7 0 0 0,116 0 0 16,172 0 0 0,36 0 0 2146121005,7 0 0 0,116 0 0 15,172 0 0 0,36 0 0 2221713035,7 0 0 0,116 0 0 16,172 0 0 0,53 0 1 477218588,6 0 0 0,6 0 0 1" -j DNAT --to-destination 10.64.0.0:8080",
      "-m bpf --bytecode "16,32 0 0 12,164 0 0 749205326,7 0 0 0,116 0 0 16,172 0 0 0,36 0 0 2146121005,7 0 0 0,116 0 0 15,172 0 0 0,36 0 0 2221713035,7 0 0 0,116 0 0 16,172 0 0 0,53 0 1 2684354560,6 0 0 0,6 0 0 1" -j DNAT --to-destination 10.64.0.1:8080",
      "-j DNAT --to-destination 10.64.0.2:8080",
    ]
  `)
})

/** With fair dice, one of these is exceeded once in a million times. */
const chiSquareBounds = [
  { list: [1, 1, 1], bound: 28 },
  { list: [1, 3, 6], bound: 28 },
  { list: Array.from({ length: 40 }, () => 1), bound: 99 },
  { list: Array.from({ length: 40 }, (_, index) => (index % 3) + 1), bound: 99 },
]
const clients = {
  'neighbours in IPv4': (index) => `10.${128 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`,
  'neighbours in IPv6': (index) => `2001:db8::${(index >> 16).toString(16)}:${(index & 0xffff).toString(16)}`,
  'far apart': (index) => {
    const far = Math.imul(index, 0x9e3779b1) >>> 0
    return [24, 16, 8, 0].map((shift) => (far >>> shift) & 255).join('.')
  },
  'in networks of their own': (index) => `2001:${(index >> 8).toString(16)}:${(index & 255).toString(16)}::7`,
} as const satisfies Readonly<Record<string, (index: number) => string>>

for (const [who, clientOf] of Object.entries(clients))
  test.each(chiSquareBounds)(`100,000 clients, ${who}, are spread by weight: $list`, ({ list, bound }) => {
    const endpoints = weighted(...list)
    const choose = chooserOf(choicesOf(clientOf(0).includes(':') ? byHash6 : byHash, endpoints))
    const counts = new Map<string, number>()
    for (let index = 0; index < 100_000; index++) {
      const { ip } = choose(clientOf(index))
      counts.set(ip, (counts.get(ip) ?? 0) + 1)
    }
    const sum = list.reduce((total, weight) => total + weight, 0)
    let distance = 0
    for (const { ip, weight } of endpoints) {
      const expected = (100_000 * weight) / sum
      distance += ((counts.get(ip) ?? 0) - expected) ** 2 / expected
    }
    expect(distance).toBeLessThan(bound)
  })

test('the end of one of ten endpoints moves its clients, and 6 % of the others on average', () => {
  const before = equal(10)
  const was = chooserOf(choicesOf(byHash, before))
  const parts = before.map(({ ip: gone }) => {
    const [first, ...others] = before.filter(({ ip }) => ip !== gone)
    if (first === undefined) throw new Error('nobody is left')
    const is = chooserOf(choicesOf(byHash, [first, ...others]))
    let [moved, all] = [0, 0]
    for (let index = 0; index < 4_000; index++) {
      const client = clients['far apart'](index)
      const old = was(client).ip
      if (old === gone) continue
      all++
      if (is(client).ip !== old) moved++
    }
    return moved / all
  })
  expect(parts.reduce((sum, part) => sum + part, 0) / parts.length).toBeLessThan(0.075)
  expect(Math.max(...parts)).toBeLessThan(0.22)
})

test('a client has the same pod at each port of a Service, and servers of one pod are told apart', () => {
  const [first, ...others] = equal(5)
  const otherPort = [first, ...others].map((endpoint) => testEndpoint(endpoint.ip, 9090))
  const [http, grpc] = [
    chooserOf(choicesOf(byHash, [first, ...others])),
    chooserOf(choicesOf(byHash, otherPort as unknown as NonEmpty<Endpoint>)),
  ]
  const onePod = chooserOf(
    choicesOf(byHash, [testEndpoint('10.64.0.1', 1), testEndpoint('10.64.0.1', 2), testEndpoint('10.64.0.1', 3)]),
  )
  const ports = new Map<number, number>()
  const torn: string[] = []
  for (let index = 0; index < 3_000; index++) {
    const client = clients['far apart'](index)
    if (grpc(client).ip !== http(client).ip) torn.push(client)
    const { port } = onePod(client)
    ports.set(port, (ports.get(port) ?? 0) + 1)
  }
  for (const count of ports.values()) expect(Math.abs(count - 1_000)).toBeLessThan(180)
  expect(ports.size).toBe(3)
  expect(torn).toEqual([])
})
