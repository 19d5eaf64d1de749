/**
 * A program that relays to the endpoint given as its argument and believes it may open far more files than it may.
 * It prints its address, then its counts for each line it reads.
 */
import { createInterface } from 'node:readline'
import { systemClock } from '../../../core/clock.ts'
import { RecordingLogger } from '../../../core/testing/recording-logger.ts'
import { NodeRelay } from '../node-relay.ts'

const log = new RecordingLogger()
await using relay = new NodeRelay({ log, clock: systemClock, settings: { maxDescriptors: 1_000_000 } })
const opened = await relay.set({
  id: 'web',
  protocol: 'TCP',
  address: { ip: '127.0.0.1', port: 0 },
  allowedSources: [],
  pool: {
    id: 'web',
    service: 'shop/web',
    endpoints: [{ ip: '127.0.0.1', port: Number(process.argv[2]) }],
    affinitySeconds: 0,
    whenEmpty: 'refuse',
  },
})
print(opened.ok ? opened.address : opened)
for await (const _ of createInterface({ input: process.stdin }))
  print({ ...relay.stats().listeners[0], warnings: log.at('warn').map(({ message }) => message) })

function print(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`)
}
