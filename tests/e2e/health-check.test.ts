import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { freePorts } from '../cluster/testing/free-ports.ts'
import { whoAnswers, whoTakesTurns } from './testing/clients.ts'
import { DaemonProcess } from './testing/daemon-process.ts'
import { eventually } from './testing/eventually.ts'
import { manifest, service, slice } from './testing/objects.ts'

/** Two questions, five seconds apart, and what a busy machine adds. */
const withinMs = 40_000

test('an endpoint that says it is sick is left out, told, and comes back', { timeout: 120_000 }, async () => {
  await using folder = await TemporaryFolder.make()
  await using well = await namedServer('well')
  await using sick = await namedServer('sick')
  const { port } = await freePorts('port')
  const url = `http://127.0.0.1:${port}`
  const web = service('web', port, { clusterIP: '10.96.0.10' })
  const annotations = { 'fairlead.dev/health-check': 'http:/ready' }
  const second = slice('web', sick.port)
  await folder.write(
    'web.yaml',
    manifest({ ...web, metadata: { ...web.metadata, annotations } }, slice('web', well.port), {
      ...second,
      metadata: { ...second.metadata, name: 'web-2' },
    }),
  )
  await using daemon = await DaemonProcess.start(`--objects=${folder.path}`)
  await eventually(async () => expect(await whoTakesTurns(url, 4)).toEqual(['sick', 'well']))

  sick.isReady = false
  await eventually(async () => expect(await whoTakesTurns(url, 4)).toEqual(['well']), withinMs)
  await daemon.process.says(
    new RegExp(`endpoint 127.0.0.1:${sick.port} is left out while others are there: .*HTTP status 503`),
  )
  const { body } = await daemon.metrics('/metrics')
  expect(body).toMatch(/^fairlead_service_notices\{ip_family="IPv4",reason="UnreachableEndpoint"\} 1$/m)

  // The last ones are never left out.
  well.isReady = false
  await eventually(async () => expect(await whoTakesTurns(url, 4)).toEqual(['sick', 'well']), withinMs)

  sick.isReady = true
  await eventually(async () => expect(await whoTakesTurns(url, 4)).toEqual(['sick']), withinMs)
  expect(await whoAnswers(url)).toBe('sick')
})

async function namedServer(name: string) {
  const state = { isReady: true }
  const server = createServer(({ url }, response) => {
    response.statusCode = url === '/ready' && !state.isReady ? 503 : 200
    response.end(`${name} answers\n`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(state, {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}
