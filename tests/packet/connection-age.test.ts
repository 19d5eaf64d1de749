/** Connections of clients on the node that are older than their Service wants, in kernel modes: by their real sockets. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { families } from '../../src/net/ip.ts'
import type { Family } from '../../src/net/ip.ts'
import { openTcp } from './testing/ask.ts'
import { podPorts } from './testing/cluster.ts'
import { fairleadEbpf } from './testing/fairlead-ebpf.ts'
import { fairleadIptables, fairleadNftables } from './testing/fairlead.ts'
import { fetchFrom } from './testing/fetch-from.ts'
import { NodeProcess } from './testing/node-process.ts'
import { describeEach } from './testing/proxies.ts'
import { addressOf, Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import type { Source, Target } from './testing/row.ts'
import { givenService } from './testing/service-fixture.ts'
import type { PortFixture } from './testing/service-fixture.ts'

const echoPort: PortFixture = { name: 'echo', protocol: 'TCP', port: 7, target: podPorts.echo }
const ports = [echoPort]
const endpoints = ['here-1', 'there-1'] as const
const annotations = { 'fairlead.dev/max-connection-age': '4s' }
// Sockets are found in all network namespaces of the machine: nobody else's tests use these addresses.
const aged = givenService('aged', 199, { type: 'NodePort', ports, endpoints, annotations })
const other = givenService('other', 198, { type: 'NodePort', ports, endpoints })

const soon = { timeout: 60_000, interval: 100 }

describeEach([fairleadNftables, fairleadIptables('nft'), fairleadEbpf], (proxy) => {
  test('they end with an error for the client, whose next connection works; those of other Services go on', async () => {
    await using rig = await Rig.start(proxy, { destroysOldConnections: true }, [aged, other])
    // A pod has a process, by which its network namespace is found.
    await using _pod = new NodeProcess(rig.cluster.host('caller'), 'sleep', ['600'])
    const ways: readonly (readonly [Source, Target, Family])[] = families.flatMap((family) => [
      ['caller', at('cluster IP', aged, echoPort), family] as const,
      ['caller', at('node port', aged, echoPort), family] as const,
      ['node', at('cluster IP', aged, echoPort), family] as const,
    ])
    using held = new Held(rig)
    for (const family of families)
      for (const from of ['caller', 'node'] as const) await held.open(from, at('cluster IP', other, echoPort), family)
    const lasting = [...held.all]
    const began = performance.now()
    for (const way of ways) await held.open(...way)
    const ending = held.all.filter((one) => !lasting.includes(one))

    await expect.poll(() => ending.map(({ error }) => error), soon).toEqual(ways.map(() => 'ECONNABORTED'))
    // Not before its time, which is 90 % of the age or more.
    for (const { endedMs } of ending) expect(endedMs - began).toBeGreaterThanOrEqual(3_600)
    for (const way of ways) await held.open(...way)
    for (const one of lasting) await one.goesOn()

    await expect
      .poll(async () => {
        const metrics = await fetchFrom(rig.cluster.node, '127.0.0.1', 10_249, '/metrics')
        return typeof metrics === 'object' ? metrics.body : ''
      }, soon)
      .toMatch(/fairlead_old_connections_ended_total\{ip_family="IPv6"\} [1-9]/)
  })
})

describeEach([fairleadNftables], (proxy) => {
  test('without the flag they stay, and the log names it', async () => {
    await using rig = await Rig.start(proxy, {}, [aged])
    await expect
      .poll(() => rig.proxy.log(), soon)
      .toContain(
        'fairlead.dev/max-connection-age is ignored: the nftables mode does it only with --destroy-old-connections',
      )
  })
})

class Held implements Disposable {
  readonly all: HeldConnection[] = []
  readonly #rig: Rig

  constructor(rig: Rig) {
    this.#rig = rig
  }

  async open(from: Source, target: Target, family: Family): Promise<void> {
    const { namespace, ip: source } = this.#rig.whoIs(from, target, family)
    const socket = openTcp(namespace, { ...addressOf(target, family), source })
    const one = new HeldConnection(socket)
    this.all.push(one)
    await once(socket, 'connect', { signal: AbortSignal.timeout(20_000) })
    await one.goesOn()
  }

  [Symbol.dispose](): void {
    for (const one of this.all) one.socket.destroy()
  }
}

class HeldConnection {
  readonly socket: Socket
  error: string | undefined
  endedMs = Number.NaN

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      this.error = code
      this.endedMs = performance.now()
    })
  }

  async goesOn(): Promise<void> {
    const heard = once(this.socket, 'data', { signal: AbortSignal.timeout(20_000) })
    this.socket.write('hello')
    await heard
  }
}
