import { expect, test, vi } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { startHttpBackend, startUdpBackend } from '../sample-backends.ts'
import { ask } from './ask.ts'
import { clientAddresses } from './client-addresses.ts'
import { DemoTraffic } from './demo-traffic.ts'

const patient = AbortSignal.timeout(60_000)

test('a question is answered by name, over TCP and UDP, and by nobody where nobody listens', async () => {
  await using http = await startHttpBackend('web-1')
  await using udp = await startUdpBackend('echo-2')
  const [from] = await clientAddresses()
  const to = (protocol: 'TCP' | 'UDP', port: number) => ({ from, to: { ip: '127.0.0.1', port, protocol } })
  expect(await ask(to('TCP', http.port), patient)).toBe('web-1')
  expect(await ask(to('UDP', udp.port), patient)).toBe('echo-2')
  const { port } = http
  await http[Symbol.asyncDispose]()
  expect(await ask(to('TCP', port), patient)).toBe('')
})

test('every client asks every Service that is served, and all of it ends at once', async () => {
  await using http = await startHttpBackend('web-1')
  const ending = new AbortController()
  const traffic = new DemoTraffic({
    services: ['shop/web', 'shop/gone'],
    clientAddresses: await clientAddresses(),
    addressOf: (service) =>
      service === 'shop/web' ? { ip: '127.0.0.1', port: http.port, protocol: 'TCP' } : undefined,
    clock: systemClock,
    random: Math.random,
    onAnswer() {},
  })
  const running = traffic.run(ending.signal)
  await vi.waitFor(
    () => {
      for (const { answers } of traffic.clientsOf('shop/web')) expect(answers.slice(0, 2)).toEqual(['web-1', 'web-1'])
    },
    { timeout: 20_000 },
  )
  ending.abort()
  await running
  expect(traffic.clientsOf('shop/gone').flatMap(({ answers }) => answers)).toEqual([])
})
