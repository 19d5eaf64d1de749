import { expect, test } from 'vitest'
import { silentLogger } from '../../../core/logger.ts'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import type { RestoreText } from '../iptables.ts'
import { MemoryIptables } from '../memory-iptables.ts'
import { DriftWatch } from './drift-watch.ts'
import type { KernelState } from './kernel-state.ts'

const never = new AbortController().signal

/** Counts how often it was written and read. */
class CountingIptables extends MemoryIptables {
  writes = 0
  reads = 0

  override async restore(input: RestoreText, signal: AbortSignal): Promise<void> {
    await super.restore(input, signal)
    this.writes++
  }

  override save(table: 'filter' | 'nat' | 'mangle', signal: AbortSignal): Promise<string> {
    this.reads++
    return super.save(table, signal)
  }
}

/** Two chains, each with so many rules. */
const plan = new Map([
  ['KUBE-PORTALS', 1],
  ['KUBE-OTHERS', 0],
])
const rules = '*nat\n:KUBE-PORTALS - [0:0]\n:KUBE-OTHERS - [0:0]\n-A KUBE-PORTALS -j RETURN\nCOMMIT\n'
const ours = '*nat\n-F KUBE-PORTALS\n-A KUBE-PORTALS -j ACCEPT\nCOMMIT\n'
const damage = '*nat\n-I KUBE-OTHERS -j RETURN\nCOMMIT\n'

function findDrift(written: typeof plan, { nat }: KernelState): string | undefined {
  for (const [chain, count] of written) if (nat.get(chain)?.length !== count) return `chain ${chain} was changed`
  return undefined
}

/** Runs until the first comparison is done. */
async function watched({ isCheap }: { readonly isCheap: boolean }) {
  const kernel = new CountingIptables({ family: 'ipv4' })
  const clock = new FakeClock()
  await kernel.restore(rules, never)
  const detector = {
    isCheap,
    token: () => Promise.resolve(`${kernel.writes} writes`),
    async [Symbol.asyncDispose]() {},
  }
  const openDetector = () => Promise.resolve(detector)
  const drift = new DriftWatch({ iptables: kernel, findDrift, openDetector, clock, log: silentLogger })
  const found = new Set<string>()
  const stop = new AbortController()
  const programming = { inTurn: <T>(work: () => Promise<T>) => work(), isLost: false, written: plan, syncCount: 1 }
  const running = drift.run(programming, (what) => void found.add(what), stop.signal)
  await clock.advance(0)
  kernel.reads = 0
  const ownWrite = () => drift.ownWrite(() => kernel.restore(ours, never), never)
  const end = async () => {
    stop.abort()
    await running
  }
  return { kernel, clock, found, ownWrite, end }
}

test('after a write of our own nothing is read, because nobody else has written', async () => {
  const { kernel, clock, found, ownWrite, end } = await watched({ isCheap: true })
  await ownWrite()
  await clock.advance(2_000)
  expect({ found: [...found], reads: kernel.reads }).toEqual({ found: [], reads: 0 })
  await end()
})

test('a write of our own does not cover what others did before it', async () => {
  const { kernel, clock, found, ownWrite, end } = await watched({ isCheap: true })
  await kernel.restore(damage, never)
  await ownWrite()
  await clock.advance(2_000)
  expect([...found]).toEqual(['chain KUBE-OTHERS was changed'])
  await end()
})

test('what others do while we write is found by the next comparison that is due anyway', async () => {
  const { kernel, clock, found, ownWrite, end } = await watched({ isCheap: true })
  const writing = ownWrite()
  await kernel.restore(damage, never)
  await writing
  await clock.advance(60_000)
  expect([...found]).toEqual(['chain KUBE-OTHERS was changed'])
  await end()
})

test('where asking costs as much as reading, nobody asks around a write of our own', async () => {
  const { kernel, clock, found, ownWrite, end } = await watched({ isCheap: false })
  await ownWrite()
  await clock.advance(2_000)
  expect([...found]).toEqual([])
  expect(kernel.reads).toBeGreaterThan(0)
  await end()
})
