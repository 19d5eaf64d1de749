/** How fast a change could be on this machine: what it takes a program that does nothing but read it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { compiledScript } from '../compiled-scripts.ts'
import { ApiServer } from '../core/api-server.ts'
import { scripts } from '../core/programs.ts'
import { sharedClockMs } from '../core/shared-clock.ts'
import { Lookout } from '../real-time.ts'

export interface FloorData {
  readonly url: string
  readonly memory: SharedArrayBuffer
}

interface FloorCase {
  readonly services: number
  readonly warmUps: number
  readonly changes: number
  /** Between changes. */
  readonly pauseMs: number
}

const watch = '/apis/discovery.k8s.io/v1/endpointslices?watch=true&sendInitialEvents=true'
/** As whoever looks at the tables of a proxy. */
const lookEveryMs = 0.05
const patienceMs = 60_000

/** From the API server's write of each change until another thread sees the word. */
export async function measureFloor({ services, warmUps, changes, pauseMs }: FloorCase): Promise<readonly number[]> {
  await using server = await ApiServer.start(scripts.apiServer, services)
  const data: FloorData = { url: server.url('stream') + watch, memory: new SharedArrayBuffer(8) }
  const worker = new Worker(compiledScript(new URL('./floor-worker.ts', import.meta.url)), { workerData: data })
  const words = new Int32Array(data.memory)
  try {
    for (const deadline = Date.now() + patienceMs; Atomics.load(words, 1) === 0;) {
      if (Date.now() > deadline) throw new Error('the floor of the machine was not measured: the list did not come')
      await sleep(50)
    }
    using _lookout = new Lookout()
    const timesMs: number[] = []
    for (let change = 0; change < warmUps + changes; change++) {
      await sleep(pauseMs)
      const before = Atomics.load(words, 0)
      const begun = server.change({ changes: 1, pauseMs: 0, from: (change * 7919) % services })
      const deadline = sharedClockMs() + patienceMs
      while (Atomics.load(words, 0) === before) {
        if (sharedClockMs() > deadline) throw new Error('the floor of the machine was not measured: a change was lost')
        Atomics.wait(nobody, 0, 0, lookEveryMs)
      }
      const seenAtMs = sharedClockMs()
      const changedAtMs = Math.max(...(await begun).values())
      if (change >= warmUps) timesMs.push(seenAtMs - changedAtMs)
    }
    return timesMs
  } finally {
    await worker.terminate()
  }
}

const nobody = new Int32Array(new SharedArrayBuffer(4))
