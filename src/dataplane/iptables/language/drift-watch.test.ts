import { expect, test } from 'vitest'
import { silentLogger } from '../../../core/logger.ts'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import type { RestoreText } from '../iptables.ts'
import { MemoryIptables } from '../memory-iptables.ts'
import { DriftWatch } from './drift-watch.ts'
import { findDamage } from '../../../backends/iptables/find-damage.ts'
import { fullInput } from '../../../backends/iptables/full-input.ts'
import { emptyRuleset } from '../../../backends/iptables/ruleset.ts'
import { assumedSettings } from '../../../backends/iptables/settings-source.ts'
import { Written } from '../../../backends/iptables/written.ts'

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

const settings = assumedSettings({
  family: 'ipv4',
  localTraffic: { kind: 'none' },
  masqueradeAll: false,
  masqueradeMark: '0x00004000',
  localhostNodePorts: true,
  nodePortAddresses: [],
  dropsInvalid: true,
  localIps: () => [],
})

const ours = '*nat\n:KUBE-PROXY-CANARY - [0:0]\nCOMMIT\n'
const damage = '*nat\n-I KUBE-MARK-MASQ -j RETURN\nCOMMIT\n'

/** Runs until the first comparison is done. */
async function watched({ isCheap }: { readonly isCheap: boolean }) {
  const kernel = new CountingIptables({ family: 'ipv4' })
  const clock = new FakeClock()
  const written = new Written(settings)
  await kernel.restore(fullInput(written, emptyRuleset).render(), never)
  const detector = {
    isCheap,
    token: () => Promise.resolve(`${kernel.writes} writes`),
    async [Symbol.asyncDispose]() {},
  }
  const drift = new DriftWatch({
    iptables: kernel,
    findDrift: async (plan: Written, state) => (await findDamage(plan, { ...emptyRuleset, ...state }))?.found,
    openDetector: () => Promise.resolve(detector),
    clock,
    log: silentLogger,
  })
  const found: string[] = []
  const stop = new AbortController()
  const look = { inTurn: <T>(work: () => Promise<T>) => work(), isLost: false, written }
  const running = drift.run(look, (what) => void found.push(what), stop.signal)
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
  expect({ found, reads: kernel.reads }).toEqual({ found: [], reads: 0 })
  await end()
})

test('a write of our own does not cover what others did before it', async () => {
  const { kernel, clock, found, ownWrite, end } = await watched({ isCheap: true })
  await kernel.restore(damage, never)
  await ownWrite()
  await clock.advance(2_000)
  expect(found).toEqual(['chain nat/KUBE-MARK-MASQ was changed'])
  await end()
})

test('what others do while we write is found by the next comparison that is due anyway', async () => {
  const { kernel, clock, found, ownWrite, end } = await watched({ isCheap: true })
  const writing = ownWrite()
  await kernel.restore(damage, never)
  await writing
  await clock.advance(60_000)
  expect(found[0]).toBe('chain nat/KUBE-MARK-MASQ was changed')
  await end()
})

test('where asking costs as much as reading, nobody asks around a write of our own', async () => {
  const { kernel, clock, found, ownWrite, end } = await watched({ isCheap: false })
  await ownWrite()
  await clock.advance(2_000)
  expect(found).toEqual([])
  expect(kernel.reads).toBeGreaterThan(0)
  await end()
})
