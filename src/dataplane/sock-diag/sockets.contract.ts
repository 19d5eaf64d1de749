/** The tests that every Sockets passes: in the kernel, or in memory. */
import { expect, test } from 'vitest'
import type { ConnectedSocket, Sockets } from './sockets.ts'

interface ContractSocket extends ConnectedSocket, Disposable {
  isConnected(): boolean
}

export interface SocketsSite {
  readonly sockets: Sockets
  /** `here`: in the namespace of this process. A socket of IPv6 can be connected to an address of IPv4. */
  readonly connect: (where: 'here' | 'elsewhere', family: 'ipv4' | 'ipv6', ip: string, port: number) => ContractSocket
  /** The number of a namespace that this process cannot enter. */
  readonly unreachable: bigint
}

export function socketsContract(name: string, make: () => Promise<SocketsSite>): void {
  const { signal } = new AbortController()

  test(`${name} destroys the sockets that are named, in every family and namespace, and no other`, async () => {
    const { sockets, connect } = await make()
    using here = connect('here', 'ipv4', '127.0.0.1', 7001)
    using mapped = connect('here', 'ipv6', '127.0.0.1', 7001)
    using six = connect('here', 'ipv6', '::1', 7001)
    using elsewhere = connect('elsewhere', 'ipv4', '127.0.0.1', 7001)
    using beside = connect('here', 'ipv4', '127.0.0.1', 7001)
    using besideElsewhere = connect('elsewhere', 'ipv6', '::1', 7001)
    const stale = [here, mapped, six, elsewhere]
    expect(await sockets.destroy(stale.map(factsOf), signal)).toEqual({ destroyed: 4, unreached: [] })
    expect(stale.map((socket) => socket.isConnected())).toEqual([false, false, false, false])
    expect([beside, besideElsewhere].map((socket) => socket.isConnected())).toEqual([true, true])
  })

  test(`${name} finds the sockets that are connected to something, in every family and namespace`, async () => {
    const { sockets, connect } = await make()
    using here = connect('here', 'ipv4', '127.0.0.1', 7011)
    using mapped = connect('here', 'ipv6', '127.0.0.1', 7011)
    using elsewhere = connect('elsewhere', 'ipv4', '127.0.0.1', 7011)
    using six = connect('elsewhere', 'ipv6', '::1', 7011)
    using other = connect('here', 'ipv4', '127.0.0.1', 7012)
    const find = async (protocol: 'TCP' | 'UDP', ip: string, port: number) => {
      const { sockets: found } = await sockets.find(protocol, (toIp, toPort) => toIp === ip && toPort === port, signal)
      return found.toSorted((one, another) => Number(one.cookie - another.cookie))
    }
    const inOrder = (...all: readonly ConnectedSocket[]) =>
      all.map(factsOf).toSorted((one, another) => Number(one.cookie - another.cookie))
    expect(await find('UDP', '127.0.0.1', 7011)).toEqual(inOrder(here, mapped, elsewhere))
    expect(await find('UDP', '::1', 7011)).toEqual(inOrder(six))
    expect(await find('UDP', '127.0.0.1', 7012)).toEqual(inOrder(other))
    expect(await find('TCP', '127.0.0.1', 7011)).toEqual([])
    expect(await sockets.destroy(await find('UDP', '127.0.0.1', 7011), signal)).toEqual({ destroyed: 3, unreached: [] })
    expect([six, other].map((socket) => socket.isConnected())).toEqual([true, true])
  })

  test(`${name} leaves a socket alone that is connected to something else by now`, async () => {
    const { sockets, connect } = await make()
    using socket = connect('here', 'ipv4', '127.0.0.1', 7001)
    const wrong = [
      { ...factsOf(socket), port: 7002 },
      { ...factsOf(socket), ip: '127.0.0.2' },
      { ...factsOf(socket), protocol: 'TCP' as const },
    ]
    expect(await sockets.destroy(wrong, signal)).toEqual({ destroyed: 0, unreached: [] })
    expect(socket.isConnected()).toBe(true)
  })

  test(`${name} does not mind a socket that was closed, or destroyed before`, async () => {
    const { sockets, connect } = await make()
    using closed = connect('here', 'ipv4', '127.0.0.1', 7001)
    using once = connect('elsewhere', 'ipv4', '127.0.0.1', 7001)
    closed[Symbol.dispose]()
    expect(await sockets.destroy([closed, once].map(factsOf), signal)).toEqual({ destroyed: 1, unreached: [] })
    expect(await sockets.destroy([closed, once].map(factsOf), signal)).toEqual({ destroyed: 0, unreached: [] })
    expect(await sockets.destroy([], signal)).toEqual({ destroyed: 0, unreached: [] })
  })

  test(`${name} names the sockets of namespaces that cannot be entered, and does the others`, async () => {
    const { sockets, connect, unreachable } = await make()
    using socket = connect('here', 'ipv4', '127.0.0.1', 7001)
    const lost = { ...factsOf(socket), netns: unreachable }
    expect(await sockets.destroy([lost, { ...lost, cookie: 77n }, factsOf(socket)], signal)).toEqual({
      destroyed: 1,
      unreached: [lost.cookie, 77n],
    })
  })

  test(`${name} knows the namespace of this process`, async () => {
    const { sockets, connect } = await make()
    using here = connect('here', 'ipv4', '127.0.0.1', 7001)
    using elsewhere = connect('elsewhere', 'ipv4', '127.0.0.1', 7001)
    expect(await sockets.ownNamespace()).toBe(here.netns)
    expect(elsewhere.netns).not.toBe(here.netns)
  })

  test(`${name} gets into another network namespace, and is back in its own`, async () => {
    const { sockets, connect } = await make()
    using here = connect('here', 'ipv4', '127.0.0.1', 7001)
    using _elsewhere = connect('elsewhere', 'ipv4', '127.0.0.1', 7001)
    expect(await sockets.reach()).toBe('others')
    expect(await sockets.ownNamespace()).toBe(here.netns)
  })

  test(`${name} can try it without harm`, async () => {
    const { sockets, connect } = await make()
    using socket = connect('here', 'ipv4', '127.0.0.1', 7001)
    await sockets.tryDestroy(signal)
    expect(socket.isConnected()).toBe(true)
  })

  test(`${name} does nothing once it is aborted`, async () => {
    const { sockets, connect } = await make()
    using socket = connect('here', 'ipv4', '127.0.0.1', 7001)
    const aborted = AbortSignal.abort(new Error('stopping'))
    await expect(sockets.destroy([factsOf(socket)], aborted)).rejects.toThrow('stopping')
    expect(socket.isConnected()).toBe(true)
  })
}

const factsOf = ({ cookie, netns, protocol, ip, port }: ConnectedSocket): ConnectedSocket => ({
  cookie,
  netns,
  protocol,
  ip,
  port,
})
