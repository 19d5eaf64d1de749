/** Fairlead's relay in front of the endpoint that its first argument names, in the engine of the second: prints its port, and ends with its input. */
import { systemClock } from '../../../src/core/clock.ts'
import { silentLogger } from '../../../src/core/logger.ts'
import { openRelay } from '../../../src/dataplane/relay/open-relay.ts'

const engine = process.argv[3] === 'native' ? 'native' : 'node'
const relay = await openRelay({
  log: silentLogger,
  clock: systemClock,
  workers: 0,
  engine,
  drainTimeoutMs: undefined,
  mayBeTransparent: false,
})
const opened = await relay.set({
  id: 'bench',
  protocol: 'TCP',
  address: { ip: '127.0.0.1', port: 0 },
  allowedSources: [],
  pool: {
    id: 'bench',
    service: 'bench/endpoint',
    endpoints: [{ ip: '127.0.0.1', port: Number(process.argv[2]) }],
    affinitySeconds: 0,
    whenEmpty: 'refuse',
  },
})
if (!opened.ok) throw new Error(opened.message)
process.stdout.write(`${JSON.stringify({ port: opened.address.port })}\n`)
process.stdin.resume().on('end', () => process.exit())
