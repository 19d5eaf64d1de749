import { expect, test } from 'vitest'
import { isOpenTcpState, OpenConnections } from './open-connections.ts'
import type { TrackedConnection } from './open-connections.ts'
import { testEndpoint, testRoute } from './testing/routes.ts'

const [one, two] = [testEndpoint('10.64.0.1', 8080), testEndpoint('10.64.0.2', 8080)]
const web = testRoute('shop/web', { clusterIP: '10.96.0.7', nodePort: 30_080, endpoints: [one, two] })
const dns = testRoute('shop/dns', { clusterIP: '10.96.0.7', protocol: 'UDP', endpoints: [one] })

function connection(to: string, from: string, more: Partial<TrackedConnection> = {}): TrackedConnection {
  const [destinationIp = '', destinationPort] = to.split(':')
  const [sourceIp = '', sourcePort] = from.split(':')
  const client = { ip: '10.64.9.9', port: 40_000 }
  return {
    protocol: 6,
    original: { sourceIp: client.ip, sourcePort: client.port, destinationIp, destinationPort: Number(destinationPort) },
    reply: { sourceIp, sourcePort: Number(sourcePort), destinationIp: client.ip, destinationPort: client.port },
    isOpen: true,
    ...more,
  }
}

function count(...connections: readonly TrackedConnection[]) {
  const open = new OpenConnections([web, dns])
  for (const each of connections) open.add(each)
  return open.traffic(false)
}

test('a connection belongs to the Service that was asked for, and to the endpoint that answers', () => {
  const traffic = count(
    connection('10.96.0.7:80', one.address),
    connection('10.96.0.7:80', one.address),
    connection('192.0.2.1:30080', two.address),
    connection('10.96.0.7:80', one.address, { protocol: 17 }),
  )
  expect(traffic.get(web.key)).toEqual({
    open: 3,
    endpoints: new Map([
      [one.address, { open: 2 }],
      [two.address, { open: 1 }],
    ]),
  })
  expect(traffic.get(dns.key)).toEqual({ open: 1, endpoints: new Map([[one.address, { open: 1 }]]) })
})

test('an endpoint that the Service has no more is still there while connections to it are open', () => {
  const traffic = count(connection('10.96.0.7:80', '10.64.0.99:8080'))
  expect(traffic.get(web.key)?.open).toBe(1)
  expect(traffic.get(web.key)?.endpoints?.get('10.64.0.99:8080')).toEqual({ open: 1 })
})

test('what is no connection of a Service does not count', () => {
  const traffic = count(
    connection('10.96.0.8:80', one.address),
    connection('10.96.0.7:81', one.address),
    // Somebody else has the same port on another address.
    connection('203.0.113.5:30080', '203.0.113.5:30080'),
    // Answered, but not translated: rejected.
    connection('10.96.0.7:80', '10.96.0.7:80'),
    connection('10.96.0.7:80', one.address, { isOpen: false }),
  )
  expect(traffic.get(web.key)).toMatchObject({ open: 0 })
})

test('bytes are added up where they are known', () => {
  const open = new OpenConnections([web])
  open.add(connection('10.96.0.7:80', one.address, { bytesIn: 10, bytesOut: 20 }))
  open.add(connection('10.96.0.7:80', one.address, { bytesIn: 1, bytesOut: 2 }))
  const bytes = { openBytesIn: 11, openBytesOut: 22 }
  expect(open.traffic(true).get(web.key)).toMatchObject({
    ...bytes,
    endpoints: new Map([
      [one.address, { open: 2, ...bytes }],
      [two.address, { open: 0, openBytesIn: 0, openBytesOut: 0 }],
    ]),
  })
  expect(open.traffic(false).get(web.key)).not.toHaveProperty('openBytesIn')
})

test('when reading starts over, so does counting', () => {
  const open = new OpenConnections([web])
  open.add(connection('10.96.0.7:80', one.address))
  open.reset()
  open.add(connection('10.96.0.7:80', two.address))
  expect(open.traffic(false).get(web.key)).toMatchObject({ open: 1 })
})

test('a TCP connection is open from the first answer until both sides are done', () => {
  for (const state of ['SYN_RECV', 'ESTABLISHED', 'FIN_WAIT', 'CLOSE_WAIT']) expect(isOpenTcpState(state)).toBe(true)
  for (const state of ['NONE', 'SYN_SENT', 'LAST_ACK', 'TIME_WAIT', 'CLOSE']) expect(isOpenTcpState(state)).toBe(false)
})
