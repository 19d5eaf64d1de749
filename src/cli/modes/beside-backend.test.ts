import { expect, test } from 'vitest'
import { UserspaceBackend } from '../../backends/userspace/userspace-backend.ts'
import type { Backend, Change, SyncReport } from '../../core/backend.ts'
import { silentLogger } from '../../core/logger.ts'
import type { Route } from '../../core/route.ts'
import { testEndpoint, testRoute, testView } from '../../core/testing/routes.ts'
import { MemoryRelay } from '../../dataplane/relay/testing/memory-relay.ts'
import { besideBackend } from './beside-backend.ts'

const never = new AbortController().signal
const endpoints = [testEndpoint('10.64.0.1', 8080)]
const web = testRoute('shop/web', { nodePort: 30080, endpoints })
const dns = testRoute('shop/dns', { nodePort: 30053, protocol: 'UDP', clusterIP: '10.96.0.11', endpoints })
const plain = testRoute('shop/plain', { clusterIP: '10.96.0.12', endpoints })

test('listens for routes with a node port, and follows what changes', async () => {
  const { sync, listening } = given()
  expect(await sync([web, dns, plain])).toMatchObject({ facts: { rules: 3, listeners: 2 } })
  expect(listening()).toEqual(['TCP 127.0.0.1:30080 10.64.0.1', 'UDP 127.0.0.1:30053 10.64.0.1'])
  const moved = testRoute('shop/web', { nodePort: 30081, endpoints: [testEndpoint('10.64.0.2', 8080)] })
  await sync([moved, dns, plain], [moved])
  expect(listening()).toEqual(['TCP 127.0.0.1:30081 10.64.0.2', 'UDP 127.0.0.1:30053 10.64.0.1'])
})

test('closes everything where the mode itself answers, and opens it again', async () => {
  let isWanted = true
  const { sync, listening } = given(() => isWanted)
  await sync([web])
  isWanted = false
  await sync([web])
  expect(listening()).toEqual([])
  isWanted = true
  await sync([web])
  expect(listening()).toHaveLength(1)
})

test('a port that somebody else has is told once, is no failure, and is taken when it is free', async () => {
  const { relay, sync, listening } = given()
  const address = { ip: '127.0.0.1', port: 30080 }
  const pool = { id: 'p', service: 's', endpoints: [], affinitySeconds: 0, whenEmpty: 'refuse' } as const
  await relay.set({ id: 'other', protocol: 'TCP', address, allowedSources: [], pool })
  const first = await sync([web, dns])
  expect(first.failed).toEqual([])
  expect(first.notices).toEqual([{ key: web.key, reason: 'node-port: 127.0.0.1 port 30080 is taken' }])
  expect((await sync([web, dns], [])).notices).toBeUndefined()
  await relay.remove('other')
  expect((await sync([web, dns], [])).notices).toBeUndefined()
  expect(listening()).toHaveLength(2)
})

test('a relay that fails does not keep the data plane from being programmed', async () => {
  const { relay, sync, programmed } = given()
  relay.set = () => Promise.reject(new Error('the engine has died'))
  await expect(sync([web])).rejects.toThrow('the engine has died')
  expect(programmed).toEqual([1])
})

test('what it has, carries and compares is added to that of the data plane', async () => {
  const { backend, relay, sync } = given()
  await sync([web])
  const { bytesIn, ...rest } = relay.counts(relay.listeners[0]?.id ?? '') ?? { bytesIn: 0 }
  relay.counts = () => ({ ...rest, bytesIn: bytesIn + 7, connections: 3 }) as ReturnType<MemoryRelay['counts']>
  expect((await backend.traffic?.(never))?.get(web.key)).toMatchObject({ connections: 5, bytesIn: 7 })
  expect((await backend.pieces?.(web.key))?.map(({ text }) => text)).toEqual([
    'the rule',
    'node-port 127.0.0.1:30080 -> 10.64.0.1:8080',
    '10.64.0.1:8080',
  ])
  expect((await backend.inspect?.(web.key, never))?.pieces.map(({ state }) => state)).toEqual([
    'as planned',
    'as planned',
    'as planned',
  ])
  expect((await backend.rendered?.())?.map(({ part }) => part)).toEqual(['rules', 'listeners'])
  await backend[Symbol.asyncDispose]()
  expect(relay.listeners).toEqual([])
})

function given(isWanted: () => boolean = () => true) {
  const relay = new MemoryRelay()
  const programmed: number[] = []
  const rule = { kind: 'rule', where: 'chain', text: 'the rule' }
  const main: Backend = {
    name: 'rules',
    async sync({ routesByKey }) {
      programmed.push(routesByKey.size)
      return { facts: { rules: routesByKey.size }, failed: [] }
    },
    traffic: async () => new Map([[web.key, { connections: 2 }]]),
    pieces: async () => [rule],
    inspect: async () => ({ pieces: [{ ...rule, state: 'as planned' }] }),
    rendered: async () => [{ part: 'rules', text: '' }],
    [Symbol.asyncDispose]: async () => {},
  }
  const listeners = new UserspaceBackend({ relay, listen: { kind: 'localhost-node-ports' }, log: silentLogger })
  const backend = besideBackend(main, listeners, isWanted)
  return {
    backend,
    relay,
    programmed,
    /** Everything, unless some are named that have changed. */
    sync: (routes: readonly Route[], changed?: readonly Route[]): Promise<SyncReport> => {
      const keys = (changed ?? routes).map(({ key }) => key)
      const change: Change = { full: changed === undefined, keys, causes: [] }
      return backend.sync(testView(...routes), change, never)
    },
    listening: () =>
      relay.listeners
        .map(({ protocol, address, pool }) => `${protocol} ${address.ip}:${address.port} ${pool.endpoints[0]?.ip}`)
        .sort(),
  }
}
