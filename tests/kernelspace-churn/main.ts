/**
 * `npm run test:windows-churn [-- --minutes=5]`: the churn of the test beside it for minutes, over an HNS in memory. Fails
 * when HNS objects, notes, memory or open handles grow.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { parseArgs } from 'node:util'
import { Churn } from './churn.ts'
import { keptByNode, worlds } from './worlds.ts'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '5' } } })
const endsAt = performance.now() + Number(values.minutes) * 60_000
const changesPerRound = 100
/** What the garbage collector and the compiler may keep more of. */
const toleratedBytes = 8 * 2 ** 20

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const churns = worlds.map((world, index) => ({ world, churn: new Churn({ ...world, seed: 7 + index }) }))
const heapBytes: number[] = []
const handles: number[] = []
const problems: string[] = []
let calls = 0

for (let round = 1; performance.now() < endsAt && problems.length === 0; round++) {
  for (const { world, churn } of churns) {
    const { balancers, remoteEndpoints, owned } = await churn.round(changesPerRound)
    calls += churn.takeCalls()
    const kept = keptByNode(world)
    if (balancers > 0 || remoteEndpoints > 0 || owned.length !== kept.length)
      problems.push(
        `${world.type}, Server ${world.profile}, round ${round}: left are ${balancers} load balancers, ` +
          `${remoteEndpoints} remote endpoints and the notes ${owned.join(', ')}`,
      )
  }
  collectGarbage()
  heapBytes.push(process.memoryUsage().heapUsed)
  handles.push(process.getActiveResourcesInfo().length)
}

const [early, late] = [lowestOf(heapBytes.slice(2, 6)), lowestOf(heapBytes.slice(-4))]
if (late - early > toleratedBytes) problems.push(`memory grew from ${megabytes(early)} to ${megabytes(late)} MB`)
if ((handles.at(-1) ?? 0) > (handles[2] ?? 0))
  problems.push(`open handles grew from ${handles[2]} to ${handles.at(-1)}`)

const syncs = churns.reduce((sum, { churn }) => sum + churn.syncs, 0)
process.stdout.write(
  `${heapBytes.length} rounds, ${syncs} syncs, ${calls} calls to HNS; memory ${megabytes(early)} MB, then ${megabytes(late)} MB\n`,
)
for (const problem of problems) process.stderr.write(`${problem}\n`)
process.exitCode = problems.length === 0 ? 0 : 1

function lowestOf(numbers: readonly number[]): number {
  return Math.min(...numbers)
}

function megabytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1)
}
