/** The tests that every Ipvs passes: over netlink, through the command, or in memory. */
import { describe, expect, test } from 'vitest'
import { serverFlag, serverKey } from './ipvs.ts'
import type { Ipvs, IpvsOperation, ListedServer, VirtualServer } from './ipvs.ts'

const web: VirtualServer = {
  ip: '10.96.0.10',
  port: 80,
  protocol: 'TCP',
  scheduler: 'rr',
  flags: 0,
  timeoutSeconds: 0,
}
const sticky: VirtualServer = {
  ...web,
  ip: '10.96.0.11',
  scheduler: 'mh',
  flags: serverFlag.persistent | serverFlag.scheduler2,
  timeoutSeconds: 10_800,
}
const web6: VirtualServer = { ...sticky, ip: 'fd00:96::10', scheduler: 'sh', flags: serverFlag.persistent }
const first = { ip: '10.64.0.1', port: 8080, weight: 1 }
const second = { ip: '10.64.0.2', port: 8080, weight: 1 }
const first6 = { ip: 'fd00:64::1', port: 8080, weight: 1 }

const idle = { activeConnections: 0, inactiveConnections: 0 }

/** `make` returns an empty table. */
export function ipvsContract(name: string, make: () => Promise<Ipvs>): void {
  const { signal } = new AbortController()

  describe(`IPVS by ${name}`, () => {
    test('lists nothing where there is nothing', async () => {
      const ipvs = await make()
      expect(await ipvs.list(signal)).toEqual([])
      expect(await ipvs.realServers(web, signal)).toEqual([])
    })

    test('says that nothing was carried where nothing came', async () => {
      const ipvs = await make()
      await succeed(ipvs, [
        { kind: 'add-server', server: web },
        { kind: 'add-real-server', server: web, realServer: first },
        { kind: 'add-server', server: web6 },
      ])
      const nothing = { connections: 0, bytesIn: 0, bytesOut: 0 }
      const counted = await ipvs.counters(signal)
      expect(counted.map(({ ip }) => ip).sort()).toEqual([web.ip, web6.ip])
      expect(counted.find(({ ip }) => ip === web.ip)).toMatchObject({
        ip: web.ip,
        port: web.port,
        protocol: 'TCP',
        ...nothing,
        realServers: [{ ip: first.ip, port: first.port, ...nothing, ...idle }],
      })
    })

    test('lists the servers of every protocol and both families as they were made', async () => {
      const ipvs = await make()
      const udp: VirtualServer = { ...web, protocol: 'UDP', port: 53 }
      const sctp: VirtualServer = { ...web, protocol: 'SCTP', port: 9, scheduler: 'lc' }
      const servers = [web, sticky, web6, udp, sctp]
      await succeed(ipvs, [
        ...servers.map((server) => ({ kind: 'add-server' as const, server })),
        { kind: 'add-real-server', server: web, realServer: first },
        { kind: 'add-real-server', server: web, realServer: { ...second, weight: 0 } },
        { kind: 'add-real-server', server: web6, realServer: first6 },
      ])
      expect(await snapshot(ipvs)).toEqual(
        byKey([
          listed(web, { ...first, ...idle }, { ...second, weight: 0, ...idle }),
          listed(sticky),
          listed(web6, { ...first6, ...idle }),
          listed(udp),
          listed(sctp),
        ]),
      )
      expect(await ipvs.realServers(web6, signal)).toEqual([{ ...first6, ...idle }])
    })

    test('finds one server with its real servers', async () => {
      const ipvs = await make()
      expect(await ipvs.find(sticky, signal)).toBeUndefined()
      await ipvs.apply(
        [
          { kind: 'add-server', server: web },
          { kind: 'add-server', server: sticky },
          { kind: 'add-server', server: web6 },
          { kind: 'add-real-server', server: web, realServer: first },
          { kind: 'add-real-server', server: sticky, realServer: second },
        ],
        signal,
      )
      expect(await ipvs.find(sticky, signal)).toEqual(listed(sticky, { ...second, ...idle }))
      expect(await ipvs.find(web6, signal)).toEqual(listed(web6))
      expect(await ipvs.find({ ...sticky, protocol: 'UDP' }, signal)).toBeUndefined()
    })

    test('changes a server in place: its real servers stay', async () => {
      const ipvs = await make()
      const withAffinity = { ...web, flags: serverFlag.persistent, timeoutSeconds: 60 }
      await succeed(ipvs, [
        { kind: 'add-server', server: withAffinity },
        { kind: 'add-real-server', server: web, realServer: first },
        { kind: 'edit-server', server: { ...web, scheduler: 'wlc' } },
      ])
      expect(await snapshot(ipvs)).toEqual(byKey([listed({ ...web, scheduler: 'wlc' }, { ...first, ...idle })]))
      await succeed(ipvs, [{ kind: 'edit-server', server: withAffinity }])
      expect(await snapshot(ipvs)).toEqual(byKey([listed(withAffinity, { ...first, ...idle })]))
    })

    test('changes the weight of a real server, and deletes it', async () => {
      const ipvs = await make()
      await succeed(ipvs, [
        { kind: 'add-server', server: web },
        { kind: 'add-real-server', server: web, realServer: first },
        { kind: 'add-real-server', server: web, realServer: second },
        { kind: 'edit-real-server', server: web, realServer: { ...first, weight: 0 } },
        { kind: 'delete-real-server', server: web, realServer: second },
      ])
      expect(await ipvs.realServers(web, signal)).toEqual([{ ...first, weight: 0, ...idle }])
    })

    test('deletes a server together with its real servers', async () => {
      const ipvs = await make()
      await succeed(ipvs, [
        { kind: 'add-server', server: web },
        { kind: 'add-server', server: web6 },
        { kind: 'add-real-server', server: web, realServer: first },
        { kind: 'delete-server', server: web },
      ])
      expect(await snapshot(ipvs)).toEqual(byKey([listed(web6)]))
    })

    test('carries out operations in their order', async () => {
      const ipvs = await make()
      await succeed(ipvs, [
        { kind: 'add-server', server: web },
        { kind: 'add-real-server', server: web, realServer: first },
        { kind: 'delete-real-server', server: web, realServer: first },
        { kind: 'add-real-server', server: web, realServer: { ...first, weight: 0 } },
        { kind: 'edit-real-server', server: web, realServer: first },
        { kind: 'delete-server', server: web },
        { kind: 'add-server', server: { ...web, scheduler: 'lc' } },
      ])
      expect(await snapshot(ipvs)).toEqual(byKey([listed({ ...web, scheduler: 'lc' })]))
    })

    test('goes on after an operation that fails, and says which one and why', async () => {
      const ipvs = await make()
      const missing = { ...web, port: 81 }
      const errors = await ipvs.apply(
        [
          { kind: 'add-server', server: web },
          { kind: 'add-server', server: web },
          { kind: 'edit-server', server: missing },
          { kind: 'delete-server', server: missing },
          { kind: 'add-real-server', server: missing, realServer: first },
          { kind: 'add-real-server', server: web, realServer: first },
          { kind: 'add-real-server', server: web, realServer: first },
          { kind: 'edit-real-server', server: web, realServer: second },
          { kind: 'delete-real-server', server: web, realServer: second },
          { kind: 'add-real-server', server: web, realServer: first6 },
          { kind: 'add-server', server: web6 },
        ],
        signal,
      )
      expect(messages(errors)).toEqual([
        [1, 'exists', 'cannot add the virtual server 10.96.0.10:80/TCP: it already exists'],
        [2, 'not-found', 'cannot change the virtual server 10.96.0.10:81/TCP: there is no such virtual server'],
        [3, 'not-found', 'cannot delete the virtual server 10.96.0.10:81/TCP: there is no such virtual server'],
        [
          4,
          'not-found',
          'cannot add the real server 10.64.0.1:8080 to 10.96.0.10:81/TCP: there is no such virtual server',
        ],
        [6, 'exists', 'cannot add the real server 10.64.0.1:8080 to 10.96.0.10:80/TCP: it already exists'],
        [
          7,
          'not-found',
          'cannot change the real server 10.64.0.2:8080 of 10.96.0.10:80/TCP: it has no such real server',
        ],
        [
          8,
          'not-found',
          'cannot delete the real server 10.64.0.2:8080 of 10.96.0.10:80/TCP: it has no such real server',
        ],
        [
          9,
          'refused',
          expect.stringContaining('cannot add the real server [fd00:64::1]:8080 to 10.96.0.10:80/TCP: ') as string,
        ],
      ])
      expect(await snapshot(ipvs)).toEqual(byKey([listed(web, { ...first, ...idle }), listed(web6)]))
    })

    test('names the module of a scheduler that the kernel does not have', async () => {
      const ipvs = await make()
      const errors = await ipvs.apply(
        [
          { kind: 'add-server', server: { ...web, scheduler: 'nosuch' } },
          { kind: 'add-server', server: web },
          { kind: 'edit-server', server: { ...web, scheduler: 'nosuch' } },
        ],
        signal,
      )
      const words = 'the kernel has no scheduler "nosuch"; load the module with "modprobe ip_vs_nosuch"'
      expect(messages(errors)).toEqual([
        [0, 'module-missing', `cannot add the virtual server 10.96.0.10:80/TCP: ${words}`],
        [2, 'module-missing', `cannot change the virtual server 10.96.0.10:80/TCP: ${words}`],
      ])
      expect(await snapshot(ipvs)).toEqual(byKey([listed(web)]))
    })

    test('carries out a thousand operations, and lists what came of them', async () => {
      const ipvs = await make()
      const servers = Array.from({ length: 300 }, (_, index) => ({
        ...web,
        ip: `10.97.${index >> 8}.${index & 255}`,
      }))
      await succeed(
        ipvs,
        servers.flatMap((server): IpvsOperation[] => [
          { kind: 'add-server', server },
          { kind: 'add-real-server', server, realServer: first },
          { kind: 'add-real-server', server, realServer: second },
        ]),
      )
      const expected = servers.map((server) => listed(server, { ...first, ...idle }, { ...second, ...idle }))
      expect(await snapshot(ipvs)).toEqual(byKey(expected))
    })

    test('deletes everything at once', async () => {
      const ipvs = await make()
      await succeed(ipvs, [
        { kind: 'add-server', server: web },
        { kind: 'add-server', server: web6 },
        { kind: 'add-real-server', server: web6, realServer: first6 },
      ])
      await ipvs.flush(signal)
      expect(await ipvs.list(signal)).toEqual([])
      await ipvs.flush(signal)
    })

    test('sets the timeouts that are given, and keeps those that are 0', async () => {
      const ipvs = await make()
      await ipvs.setTimeouts({ tcpSeconds: 900, tcpFinSeconds: 120, udpSeconds: 300 }, signal)
      await ipvs.setTimeouts({ tcpSeconds: 600, tcpFinSeconds: 30, udpSeconds: 0 }, signal)
      expect(await ipvs.timeouts(signal)).toEqual({ tcpSeconds: 600, tcpFinSeconds: 30, udpSeconds: 300 })
      await ipvs.setTimeouts({ tcpSeconds: 900, tcpFinSeconds: 120, udpSeconds: 300 }, signal)
    })

    test('does nothing when there is nothing to do', async () => {
      const ipvs = await make()
      expect(await ipvs.apply([], signal)).toEqual(new Map())
    })

    test('refuses a control character in an operation, and carries out the others', async () => {
      const ipvs = await make()
      const evil = { ...sticky, scheduler: 'rr\n-A -t 10.96.0.66:80 -s rr' }
      const errors = await ipvs.apply(
        [
          { kind: 'add-server', server: evil },
          { kind: 'add-server', server: web },
        ],
        signal,
      )
      const message = expect.stringContaining(
        String.raw`"rr\n-A -t 10.96.0.66:80 -s rr" holds a control character`,
      ) as string
      expect(messages(errors)).toEqual([[0, 'refused', message]])
      expect(await snapshot(ipvs)).toEqual(byKey([listed(web)]))
    })

    test('stops when it is aborted', async () => {
      const ipvs = await make()
      const aborted = AbortSignal.abort(new Error('stopping'))
      await expect(ipvs.list(aborted)).rejects.toThrow('stopping')
      await expect(ipvs.apply([{ kind: 'add-server', server: web }], aborted)).rejects.toThrow('stopping')
      expect(await ipvs.list(signal)).toEqual([])
    })
  })

  async function succeed(ipvs: Ipvs, operations: readonly IpvsOperation[]): Promise<void> {
    expect(messages(await ipvs.apply(operations, signal))).toEqual([])
  }

  async function snapshot(ipvs: Ipvs): Promise<ReadonlyMap<string, ListedServer>> {
    return byKey(await ipvs.list(signal))
  }
}

function listed(server: VirtualServer, ...realServers: ListedServer['realServers']): ListedServer {
  return { ...server, realServers }
}

function byKey(servers: readonly ListedServer[]): ReadonlyMap<string, ListedServer> {
  return new Map(
    servers.map((server) => {
      const realServers = server.realServers.toSorted((a, b) => (a.ip < b.ip ? -1 : 1))
      return [serverKey(server), { ...server, realServers }]
    }),
  )
}

function messages(errors: Awaited<ReturnType<Ipvs['apply']>>): readonly (readonly [number, string, string])[] {
  return Array.from(errors, ([index, { reason, message }]) => [index, reason, message] as const).toSorted(
    ([a], [b]) => a - b,
  )
}
