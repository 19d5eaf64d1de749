/**
 * A program that relays: its argument is a `RelayProgramOptions` in JSON. It prints its address and the process that
 * holds the sockets, then its counts for each line it reads.
 */
import { createInterface } from 'node:readline'
import { systemClock } from '../../../core/clock.ts'
import { silentLogger, type LogFields, type Logger } from '../../../core/logger.ts'
import { NativeRelay } from '../native/native-relay.ts'
import { NodeRelay } from '../node/node-relay.ts'
import type { RelayProgramOptions } from './relay-process.ts'

const { endpoint, engine, maxDescriptors } = JSON.parse(process.argv[2] ?? '') as RelayProgramOptions
// As in a daemon without -v: nothing is kept of single connections.
const [warnings, errors]: [string[], LogFields[]] = [[], []]
const log: Logger = {
  ...silentLogger,
  warn: (message) => warnings.push(message),
  error: (message, fields) => errors.push({ message, ...fields }),
}
const settings = maxDescriptors === undefined ? {} : { maxDescriptors }
await using relay =
  engine === 'node'
    ? new NodeRelay({ log, clock: systemClock, settings })
    : await NativeRelay.start({ log, clock: systemClock, settings, workers: 2, program: engine.program })
const opened = await relay.set({
  id: 'web',
  protocol: 'TCP',
  address: { ip: '127.0.0.1', port: 0 },
  allowedSources: [],
  pool: { id: 'web', service: 'shop/web', endpoints: [endpoint], affinitySeconds: 0, whenEmpty: 'refuse' },
})
if (!opened.ok) throw new Error(opened.message)
print({ address: opened.address, pid: relay instanceof NativeRelay ? relay.pid : process.pid })
for await (const _ of createInterface({ input: process.stdin }))
  print({
    ...relay.stats().listeners[0],
    descriptors: relay.stats().descriptors,
    warnings,
    errors,
  })

function print(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`)
}
