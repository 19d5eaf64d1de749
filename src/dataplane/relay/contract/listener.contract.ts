import { readdirSync } from 'node:fs'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { ask, askTimes, eventually, open } from '../testing/clients.ts'
import { echoEndpoint, namedEndpoint, silentEndpoint } from '../testing/endpoints.ts'
import { isWholeLoopbackLocal } from '../testing/own-loopback.ts'
import type { Relay } from '../relay.ts'
import { listenerSpec, relayTo, use, type MakeRelay } from '../testing/relay-under-test.ts'

export function listenerContract(make: MakeRelay): void {
  test('changing the endpoints keeps the address and the connections that are open', async () => {
    const a = use(await echoEndpoint())
    const b = use(await namedEndpoint('b'))
    const { address, change } = await relayTo(make, [a])
    const old = open(address)
    old.write('one')
    await once(old, 'data')

    expect(await change([b])).toMatchObject({ ok: true, address })
    expect(await askTimes(address, 3)).toEqual({ b: 3 })
    old.write('two')
    expect(String((await once(old, 'data'))[0])).toBe('two')
    old.destroy()
  })

  test('a listener that took any free port stays there when that port is asked for by number', async () => {
    const a = use(await namedEndpoint('a'))
    const { address, change, relay } = await relayTo(make, [a])
    expect(await change([a], { address })).toMatchObject({ ok: true, address })
    expect(relay.stats().listeners).toHaveLength(1)
  })

  test.runIf(isWholeLoopbackLocal)('moves to another address when told so, and the old one is free', async () => {
    const a = use(await namedEndpoint('a'))
    const { relay, address, change } = await relayTo(make, [a])
    const moved = await change([a], { address: { ip: '127.0.0.2', port: 0 } })
    expect(moved).toMatchObject({ ok: true, address: { ip: '127.0.0.2' } })
    expect(await ask(address)).toBe('ECONNREFUSED')
    expect(await relay.set(listenerSpec([a], { id: 'other', address }))).toMatchObject({ ok: true, address })
  })

  for (const protocol of ['TCP', 'UDP'] as const) {
    test(`says that a ${protocol} address is in use, and takes it once it is free`, async () => {
      const { relay, address } = await relayTo(make, [], { protocol })
      const second = listenerSpec([], { id: 'second', protocol, address })
      expect(await relay.set(second)).toMatchObject({ ok: false, problem: 'in-use' })
      await relay.remove('web')
      expect(await relay.set(second)).toMatchObject({ ok: true, address })
    })

    test(`says that a ${protocol} address is not one of this machine`, async () => {
      const relay = use(await make({}))
      const spec = listenerSpec([], { protocol, address: { ip: '192.0.2.1', port: 0 } })
      expect(await relay.set(spec)).toMatchObject({ ok: false, problem: 'not-local' })
      expect(relay.stats().listeners).toEqual([])
    })

    test(`leaves nothing behind after 1,000 ${protocol} listeners came and went`, async () => {
      const relay = use(await make({}))
      await flip(relay, protocol, 20)
      const before = openSockets()
      await flip(relay, protocol, 1_000)
      expect(openSockets()).toBeLessThanOrEqual(before)
      expect(relay.stats()).toMatchObject({ listeners: [], pools: 0, draining: 0, descriptors: { used: 0 } })
    })
  }

  test('listeners of one pool share the turns', async () => {
    const endpoints = [use(await namedEndpoint('a')), use(await namedEndpoint('b'))]
    const { relay, address } = await relayTo(make, endpoints)
    const second = await relay.set(listenerSpec(endpoints, { id: 'node-port' }))
    if (!second.ok) throw new Error(second.message)
    const first = await ask(address)
    expect(await ask(second.address)).not.toBe(first)
    expect(await ask(address)).toBe(first)
  })

  test('removing a listener lets its connections go on, and disposing ends them', async () => {
    const echo = use(await echoEndpoint())
    const { relay, address } = await relayTo(make, [echo])
    const client = open(address)
    client.write('one')
    await once(client, 'data')
    await relay.remove('web')
    expect(await ask(address)).toBe('ECONNREFUSED')
    expect(relay.stats().draining).toBe(1)
    client.write('two')
    expect(String((await once(client, 'data'))[0])).toBe('two')

    const broken = once(client, 'close').catch((error: unknown) => error)
    await relay[Symbol.asyncDispose]()
    expect(await broken).toMatchObject({ code: 'ECONNRESET' })
  })

  test('connections of a removed listener end after the drain time, if one is set', async () => {
    const { relay, address } = await relayTo(make, [use(await echoEndpoint())], {}, { drainTimeoutMs: 30 })
    const client = open(address)
    client.write('one')
    await once(client, 'data')
    await relay.remove('web')
    await expect(once(client, 'close')).rejects.toMatchObject({ code: 'ECONNRESET' })
  })

  test('disposing does not wait for an endpoint that does not answer', async () => {
    const silent = use(await silentEndpoint())
    const { relay, address, stats } = await relayTo(make, [silent], {}, { dialTimeoutsMs: [600_000] })
    const answer = ask(address)
    await eventually(() => stats().connections === 1)
    await relay[Symbol.asyncDispose]()
    expect(await answer).toBe('ECONNRESET')
    expect(relay.stats().descriptors.used).toBe(0)
  })

  test('disposing lets connections end by themselves within the grace', async () => {
    const echo = use(await echoEndpoint())
    const { relay, address } = await relayTo(make, [echo], {}, { shutdownGraceMs: 600_000 })
    const client = open(address)
    client.write('one')
    await once(client, 'data')
    const disposed = relay[Symbol.asyncDispose]()
    client.write('two')
    expect(String((await once(client, 'data'))[0])).toBe('two')
    client.end()
    await disposed
    expect(relay.stats()).toMatchObject({ listeners: [], draining: 0 })
  })
}

async function flip(relay: Relay, protocol: 'TCP' | 'UDP', times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    const opened = await relay.set(listenerSpec([], { id: `flip-${i % 7}`, protocol }))
    if (!opened.ok) throw new Error(opened.message)
    await relay.set(listenerSpec([], { id: `flip-${i % 7}`, protocol, pool: { id: `pool-${i}` } }))
    await relay.remove(`flip-${i % 7}`)
  }
}

/** Descriptors where Linux lists them; elsewhere the handles Node knows of. */
function openSockets(): number {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return process.getActiveResourcesInfo().length
  }
}
