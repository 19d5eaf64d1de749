/** Node ports: at the node's addresses from everywhere, at loopback addresses from the node alone. */
import { beforeEach, expect, test } from 'vitest'
import { configFlags } from '../../src/backends/ebpf/layout.ts'
import { ClientSocket } from './testing/client-socket.ts'
import { nodeAddresses, serverPlaces } from './testing/lab.ts'
import { describeSockets } from './testing/socket-lab.ts'

const [v4] = serverPlaces.ipv4
const [v6] = serverPlaces.ipv6

await describeSockets('node ports', ({ hooks, nodes }) => {
  const { host, pod } = nodes
  beforeEach(async () => {
    await hooks.serveNodePortsAt(...Object.values(nodeAddresses))
    // Both families of a Service have the same node port.
    await hooks.serve({ externalAt: ['tcp 30080', 'udp 30080'], external: [v4] })
    await hooks.serve({ externalAt: ['tcp6 30080', 'udp6 30080'], external: [v6] })
  })

  /** Who answers, and the name of the peer. */
  const ask = async (namespace: typeof pod, place: string, family: 'ipv4' | 'ipv6', source?: string) => {
    using socket = ClientSocket.tcp(namespace, family)
    if (source !== undefined) expect(socket.bind(source)).toBe('ok')
    const outcome = socket.connect(place)
    return outcome === 'ok' ? [(await socket.read()).answeredBy, socket.peer] : outcome
  }

  test.each([
    ['10.77.2.1:30080', 'ipv4', '10.77.1.11'],
    ['10.77.2.1:30080', 'ipv6', '10.77.1.11'],
    ['[fd77:2::1]:30080', 'ipv6', 'fd77:1::11'],
  ] as const)('%s by an %s socket leads pods and the node to an endpoint', async (place, family, endpoint) => {
    expect(await ask(pod, place, family)).toEqual([endpoint, place])
    expect(await ask(host, place, family)).toEqual([endpoint, place])
  })

  test('an address of the node that does not serve node ports is left alone', async () => {
    expect(await ask(pod, '10.77.3.1:30080', 'ipv4')).toEqual(['packets', '10.77.3.1:30080'])
  })

  test.each([
    ['127.0.0.1:30080', 'ipv4', '10.77.1.11', '127.0.0.1:30080'],
    ['127.5.5.5:30080', 'ipv4', '10.77.1.11', '127.5.5.5:30080'],
    ['0.0.0.0:30080', 'ipv4', '10.77.1.11', '127.0.0.1:30080'],
    ['127.0.0.1:30080', 'ipv6', '10.77.1.11', '127.0.0.1:30080'],
    ['0.0.0.0:30080', 'ipv6', '10.77.1.11', '127.0.0.1:30080'],
    ['[::1]:30080', 'ipv6', 'fd77:1::11', '[::1]:30080'],
    ['[::]:30080', 'ipv6', 'fd77:1::11', '[::1]:30080'],
  ] as const)('%s by an %s socket leads the node to an endpoint, and a pod to itself', async (...row) => {
    const [place, family, endpoint, peer] = row
    expect(await ask(host, place, family)).toEqual([endpoint, peer])
    expect(await ask(pod, place, family)).toEqual(['the pod itself', peer])
    await hooks.configure({ without: configFlags.loopbackNodePorts })
    expect(await ask(host, place, family)).toEqual(['packets', peer])
  })

  test.each([
    ['127.0.0.1:30080', 'ipv4', '127.0.0.1:0'],
    ['127.0.0.1:30080', 'ipv6', '127.0.0.1:0'],
    ['[::1]:30080', 'ipv6', '[::1]:0'],
  ] as const)('%s by an %s socket that is bound to %s is left alone', async (place, family, source) => {
    expect(await ask(host, place, family, source)).toEqual(['packets', place])
  })

  test('datagrams to a loopback node port are answered from there', async () => {
    using socket = ClientSocket.udp(host)
    expect(socket.send('hello', '0.0.0.0:30080')).toBe('ok')
    expect(await socket.receive()).toMatchObject({ from: '127.0.0.1:30080', answer: { answeredBy: '10.77.1.11' } })
    using six = ClientSocket.udp(host, 'ipv6')
    expect(six.send('hello', '[::1]:30080')).toBe('ok')
    expect(await six.receive()).toMatchObject({ from: '[::1]:30080', answer: { answeredBy: 'fd77:1::11' } })
  })
})
