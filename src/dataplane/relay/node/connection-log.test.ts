import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { RecordingLogger } from '../../../core/testing/recording-logger.ts'
import { hostPort } from '../../../net/ip.ts'
import { NativeRelay } from '../native/native-relay.ts'
import { buildShippedEngine, type BuiltEngine } from '../native/testing/build-engine.ts'
import { NodeRelay } from './node-relay.ts'
import { ask, eventually, udpClient } from '../testing/clients.ts'
import { refusingAddress, tcpEndpoint, udpEndpoint } from '../testing/endpoints.ts'
import { relayTo, use, type MakeRelay } from '../testing/relay-under-test.ts'

let engine: BuiltEngine

beforeAll(async () => {
  engine = await buildShippedEngine()
}, 60_000)
afterAll(() => engine[Symbol.asyncDispose]())

describe.each([
  ['the Node relay', onNode],
  ['the native relay', natively],
])('%s', (_, make) => {
  test('one exchange can be followed from the accept to the bytes of each direction', async () => {
    const log = new RecordingLogger()
    const pod = use(await tcpEndpoint((socket) => socket.once('data', () => socket.end('answer'))))
    const { address } = await relayTo(make(log), [pod])
    await ask(address, 'ask')
    await eventually(() => log.lines.length === 8)

    const endpoint = hostPort(pod.address.ip, pod.address.port)
    const client = log.lines[0]?.fields['remoteAddress']
    const service = hostPort(address.ip, address.port)
    const outLocalAddress = log.lines[3]?.fields['outLocalAddress']
    const toBackend = { direction: 'to backend', sourceRemoteAddress: client, destinationRemoteAddress: endpoint }
    const fromBackend = { direction: 'from backend', sourceRemoteAddress: endpoint, destinationRemoteAddress: client }
    const whole = { service: 'shop/web:http', durationMs: expect.any(Number) as number }
    expect(client).toMatch(/^127\.0\.0\.1:\d+$/)
    expect(log.lines.map(({ level, message, fields }) => [level, message, fields])).toEqual([
      ['debug3', 'Accepted TCP connection from remote', { remoteAddress: client, localAddress: service }],
      [
        'debug4',
        'NextEndpoint for service',
        { servicePortName: 'shop/web:http', address: client, endpoints: [endpoint] },
      ],
      ['debug3', 'Mapped service to endpoint', { service: 'shop/web:http', endpoint }],
      [
        'debug4',
        'Creating proxy between remote and local addresses',
        { inRemoteAddress: client, inLocalAddress: service, outLocalAddress, outRemoteAddress: endpoint },
      ],
      ['debug4', 'Copying remote address bytes', toBackend],
      ['debug4', 'Copying remote address bytes', fromBackend],
      ['debug4', 'Copied remote address bytes', { bytes: 3, ...toBackend, ...whole }],
      ['debug4', 'Copied remote address bytes', { bytes: 6, ...fromBackend, ...whole }],
    ])
  })

  test('a Service whose endpoints do not answer is one warning, however many clients ask', async () => {
    const log = new RecordingLogger()
    const dead = { address: await refusingAddress() }
    const { address } = await relayTo(make(log), [dead])
    for (let i = 0; i < 5; i++) await ask(address)
    await eventually(() => log.at('warn').length > 0)
    expect(log.at('warn').map(({ message }) => message)).toEqual(['no endpoint answered'])
  })
})

test('a UDP client is logged when it comes and when it has gone idle', async () => {
  const log = new RecordingLogger()
  const { address, stats } = await relayTo(
    onNode(log),
    [use(await udpEndpoint('a'))],
    { protocol: 'UDP' },
    { udpIdleMs: 30 },
  )
  await use(await udpClient()).ask(address, 'hello')
  await eventually(() => stats().active === 0)
  expect(log.at('debug3').map(({ message }) => message)).toEqual([
    'New UDP connection from client',
    'Mapped service to endpoint',
    'Connection to endpoint closed due to inactivity',
  ])
})

function onNode(log: RecordingLogger): MakeRelay {
  return (settings) => new NodeRelay({ log, clock: systemClock, settings })
}

function natively(log: RecordingLogger): MakeRelay {
  return (settings) => NativeRelay.start({ log, clock: systemClock, workers: 2, program: engine.program, settings })
}
