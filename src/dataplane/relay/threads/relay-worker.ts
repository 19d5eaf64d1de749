/** What a thread of the threaded relay runs: the Node relay, told by messages what to serve. */
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../../core/clock.ts'
import type { LogFields, Logger } from '../../../core/logger.ts'
import { EngineCounters } from '../engine-counters.ts'
import { ListenerCounters } from '../listener-counters.ts'
import { NodeRelay } from '../node/node-relay.ts'
import type { FromWorker, LogLine, ToWorker, WorkerSettings } from './worker-messages.ts'

const { settings, usedByThread, thread, shownLevel, engineCells } = workerData as WorkerSettings
const relay = new NodeRelay({
  log: forwardingLogger(),
  clock: systemClock,
  settings,
  threads: { usedByThread, thread },
  counters: new EngineCounters(engineCells),
  onConnection: (report) => send({ kind: 'connection', report }),
})

parentPort?.on('message', (request: ToWorker) => {
  void answer(request).then((result) => send({ kind: 'done', call: request.call, result }))
})

async function answer(request: ToWorker): Promise<FromWorker<'done'>['result']> {
  switch (request.kind) {
    case 'set': {
      const { spec, cells } = request
      return relay.set(spec, { listener: new ListenerCounters(cells.listener), endpoints: cells.endpoints })
    }
    case 'remove':
      await relay.remove(request.id, request)
      return undefined
    case 'end':
      await relay[Symbol.asyncDispose]()
      return undefined
    case 'ping':
      return undefined
    default:
      return request satisfies never
  }
}

/** Lines go to the main thread, which has the real logger. Detail that it would not show is not sent. */
function forwardingLogger(bound: LogFields = {}): Logger {
  const line =
    (severity: LogLine['severity']) =>
    (message: string, fields: LogFields = {}) =>
      send({ kind: 'log', line: { severity, level: 0, message, fields: { ...bound, ...fields } } })
  const wouldShow = (level: number) => level <= Atomics.load(shownLevel, 0)
  return {
    error: line('error'),
    warn: line('warn'),
    info: line('info'),
    debug(level, message, fields = {}) {
      if (wouldShow(level))
        send({ kind: 'log', line: { severity: 'debug', level, message, fields: { ...bound, ...fields } } })
    },
    wouldShow,
    child: (fields) => forwardingLogger({ ...bound, ...fields }),
  }
}

function send(message: FromWorker): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
  parentPort?.postMessage(message)
}
