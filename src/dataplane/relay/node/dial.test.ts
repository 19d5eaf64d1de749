import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { dialAnyEndpoint } from './dial.ts'
import { ReadBuffers } from './read-buffers.ts'
import { echoEndpoint } from '../testing/endpoints.ts'
import { use } from '../testing/relay-under-test.ts'

test('an endpoint that answered in time is used, even when we were too busy to look', async () => {
  const { address } = use(await echoEndpoint())
  const client = connect(address.port, address.ip).on('error', () => {})
  const failures: unknown[] = []
  const dialling = dialAnyEndpoint({
    timeoutsMs: [20],
    choose: () => ({ endpoint: address, name: 'it', because: 'turn', leave() {} }),
    failed: (_choice, error) => failures.push(error),
    client,
    buffers: new ReadBuffers(),
  })
  const busyUntil = performance.now() + 100
  while (performance.now() < busyUntil);
  const outcome = await dialling
  expect(failures).toEqual([])
  expect(outcome.ok).toBe(true)
  client.destroy()
  if (outcome.ok) outcome.socket.socket.destroy()
})
