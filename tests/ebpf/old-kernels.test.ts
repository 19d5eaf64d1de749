/** The programs for kernels that cannot refuse a connection with a reason (before Linux 5.18). They run on newer ones, too. */
import { expect, test } from 'vitest'
import { ClientSocket } from './testing/client-socket.ts'
import { serverPlaces } from './testing/lab.ts'
import { describeSockets } from './testing/socket-lab.ts'

const [first] = serverPlaces.ipv4
const [firstV6] = serverPlaces.ipv6

await describeSockets(
  'for old kernels',
  ({ hooks, nodes }) => {
    test.each([
      ['ipv4', '10.96.0.1:80', '10.96.0.2:80', '10.77.1.11'],
      ['ipv6', '[fd96::1]:80', '[fd96::2]:80', 'fd77:1::11'],
    ] as const)('%s connections are translated, and none is refused', async (family, full, empty, endpoint) => {
      await hooks.serve({ at: [`tcp ${full}`], internal: [family === 'ipv4' ? first : firstV6] })
      const served = await hooks.serve({ at: [`tcp ${empty}`], internal: 'refuse' })
      const ask = async (place: string): Promise<string> => {
        using socket = ClientSocket.tcp(nodes.pod, family)
        expect(socket.connect(place)).toBe('ok')
        expect(socket.peer).toBe(place)
        return (await socket.read()).answeredBy
      }
      expect(await ask(full)).toBe(endpoint)
      expect(await ask(empty)).toBe('packets')
      expect(served.stats).toMatchObject({ refused: 0, passed: 1 })
    })
  },
  '-old',
)
