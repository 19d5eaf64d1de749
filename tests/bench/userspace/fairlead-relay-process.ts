/**
 * Fairlead's relay in front of the endpoint that its first argument names, in the engine of the second: prints its port, and
 * ends with its input. Of so many connections as the third says, one becomes a trace; 0, or nothing: none.
 */
import { systemClock } from '../../../src/core/clock.ts'
import { silentLogger } from '../../../src/core/logger.ts'
import { ConnectionTraces } from '../../../src/dataplane/relay/connection-traces.ts'
import { openRelay } from '../../../src/dataplane/relay/open-relay.ts'
import { TraceRecorder } from '../../../src/observe/tracing/trace-recorder.ts'

const [, , endpointPort, chosenEngine, reportOneIn = '0'] = process.argv
const engine = chosenEngine === 'native' ? 'native' : 'node'
const traces = new ConnectionTraces({ tracer: new TraceRecorder({ clock: systemClock }) })
const relay = await openRelay({
  log: silentLogger,
  clock: systemClock,
  workers: 0,
  engine,
  drainTimeoutMs: undefined,
  mayBeTransparent: false,
  reportOneIn: Number(reportOneIn),
  onConnection: (report) => traces.add(report),
})
const opened = await relay.set({
  id: 'bench',
  protocol: 'TCP',
  address: { ip: '127.0.0.1', port: 0 },
  allowedSources: [],
  pool: {
    id: 'bench',
    service: 'bench/endpoint',
    endpoints: [{ ip: '127.0.0.1', port: Number(endpointPort) }],
    affinitySeconds: 0,
    whenEmpty: 'refuse',
  },
})
if (!opened.ok) throw new Error(opened.message)
process.stdout.write(`${JSON.stringify({ port: opened.address.port })}\n`)
process.stdin.resume().on('end', () => process.exit())
