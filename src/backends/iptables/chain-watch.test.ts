import { describe, expect, test } from 'vitest'
import { silentLogger } from '../../core/logger.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { testView } from '../../core/testing/routes.ts'
import type { ChainPath, RestoreText, Table } from '../../dataplane/iptables/iptables.ts'
import { MemoryIptables } from '../../dataplane/iptables/memory-iptables.ts'
import { chainChangesFromTokens } from '../../dataplane/iptables/chain-changes.ts'
import type { ChangedChains, ChainChanges } from '../../dataplane/iptables/chain-changes.ts'
import type { Damage } from './damage.ts'
import { ChainWatch } from './chain-watch.ts'
import { fullInput } from './full-input.ts'
import { planIptables } from './plan.ts'
import { emptyRuleset } from './ruleset.ts'
import { assumedSettings } from './settings-source.ts'

const never = new AbortController().signal

/** Counts how often it was written and read. */
class CountingIptables extends MemoryIptables {
  writes = 0
  reads = 0
  readonly chainReads: string[] = []

  override async restore(input: RestoreText, signal: AbortSignal): Promise<void> {
    await super.restore(input, signal)
    this.writes++
  }

  override saveAll(signal: AbortSignal): Promise<string> {
    this.reads++
    return super.saveAll(signal)
  }

  override chainRules(table: Table, chain: string, signal: AbortSignal): Promise<readonly string[] | undefined> {
    this.chainReads.push(`${table}/${chain}`)
    return super.chainRules(table, chain, signal)
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
const harm = '*nat\n-I KUBE-MARK-MASQ -j RETURN\nCOMMIT\n'

/** What somebody who listens hears. */
class ScriptedChanges implements ChainChanges {
  readonly isCheap = true
  readonly isExact = true
  readonly #heard = new Set<ChainPath>()
  #wasNotListening = false

  hear(...paths: readonly ChainPath[]): void {
    for (const path of paths) this.#heard.add(path)
  }

  async take(): Promise<ChangedChains> {
    const changes = this.#wasNotListening ? 'any' : new Set(this.#heard)
    this.#wasNotListening = false
    this.#heard.clear()
    return changes
  }

  async takeAfterOwnWrite(own: ReadonlySet<ChainPath>): Promise<ChangedChains> {
    for (const path of own) this.#heard.delete(path)
    return this.take()
  }

  async withoutListening<T>(work: () => Promise<T>): Promise<T> {
    this.#wasNotListening = true
    return work()
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** Runs until the first comparison is done. */
async function watched(makeChanges: (kernel: CountingIptables) => ChainChanges) {
  const kernel = new CountingIptables({ family: 'ipv4' })
  const clock = new FakeClock()
  const written = planIptables(testView(), settings)
  await kernel.restore(fullInput(written, emptyRuleset).render(), never)
  const watch = new ChainWatch({
    iptables: kernel,
    openChanges: () => Promise.resolve(makeChanges(kernel)),
    clock,
    log: silentLogger,
  })
  const found: string[] = []
  const damages: Damage[] = []
  const stop = new AbortController()
  const syncs = { count: 0 }
  const running = watch.run(
    {
      inTurn: (work) => work(),
      written,
      isLost: false,
      get syncCount() {
        return syncs.count
      },
    },
    (damage) => {
      found.push(damage.found)
      damages.push(damage)
    },
    stop.signal,
  )
  await clock.advance(0)
  kernel.reads = 0
  kernel.chainReads.length = 0
  const ownWrite = (touched: readonly ChainPath[] = []) =>
    watch.ownEdit(new Set(touched), () => kernel.restore(ours, never), never)
  const end = async () => {
    stop.abort()
    await running
  }
  return { kernel, clock, watch, syncs, found, damages, ownWrite, end }
}

const tokens =
  ({ isCheap }: { readonly isCheap: boolean }) =>
  (kernel: CountingIptables) =>
    chainChangesFromTokens({
      isCheap,
      token: () => Promise.resolve(`${kernel.writes} writes`),
      async [Symbol.asyncDispose]() {},
    })

test('after a write of our own nothing is read, because nobody else has written', async () => {
  const { kernel, clock, found, ownWrite, end } = await watched(tokens({ isCheap: true }))
  await ownWrite()
  await clock.advance(2_000)
  expect({ found, reads: kernel.reads }).toEqual({ found: [], reads: 0 })
  await end()
})

test('a write of our own does not cover what others did before it', async () => {
  const { kernel, clock, found, ownWrite, end } = await watched(tokens({ isCheap: true }))
  await kernel.restore(harm, never)
  await ownWrite()
  await clock.advance(2_000)
  expect(found[0]).toBe('chain nat/KUBE-MARK-MASQ was changed')
  await end()
})

test('what others do while we write is found by the next comparison that is due anyway', async () => {
  const { kernel, clock, found, ownWrite, end } = await watched(tokens({ isCheap: true }))
  const writing = ownWrite()
  await kernel.restore(harm, never)
  await writing
  await clock.advance(60_000)
  expect(found[0]).toBe('chain nat/KUBE-MARK-MASQ was changed')
  await end()
})

test('where asking costs as much as reading, nobody asks around a write of our own', async () => {
  const { kernel, clock, found, ownWrite, end } = await watched(tokens({ isCheap: false }))
  await ownWrite()
  await clock.advance(2_000)
  expect(found).toEqual([])
  expect(kernel.reads).toBeGreaterThan(0)
  await end()
})

describe('who hears the names of chains', () => {
  test('reads only those that were touched', async () => {
    const changes = new ScriptedChanges()
    const { kernel, clock, found, end } = await watched(() => changes)
    changes.hear('nat/KUBE-MARK-MASQ', 'nat/PREROUTING')
    await clock.advance(1_000)
    expect(kernel.chainReads.sort()).toEqual(['nat/KUBE-MARK-MASQ', 'nat/PREROUTING'])
    expect({ found, reads: kernel.reads }).toEqual({ found: [], reads: 0 })
    await kernel.restore(harm, never)
    changes.hear('nat/KUBE-MARK-MASQ')
    await clock.advance(1_000)
    expect(found).toEqual(['chain nat/KUBE-MARK-MASQ was changed'])
    expect(kernel.reads).toBe(0)
    await end()
  })

  test('reads nothing when others change what is their own, however much', async () => {
    const changes = new ScriptedChanges()
    const { kernel, clock, end } = await watched(() => changes)
    for (let n = 0; n < 1000; n++) changes.hear(`filter/THEIRS-${n}`, `nat/THEIRS-${n}`)
    changes.hear('filter/KUBE-ROUTER-INPUT', 'nat/KUBE-KUBELET-CANARY')
    await clock.advance(10_000)
    expect({ reads: kernel.reads, chainReads: kernel.chainReads }).toEqual({ reads: 0, chainReads: [] })
    await end()
  })

  test('reads everything when there are too many, and when a chain may belong to a Service that is gone', async () => {
    const changes = new ScriptedChanges()
    const { kernel, clock, found, end } = await watched(() => changes)
    for (let n = 0; n < 50; n++) changes.hear(`nat/KUBE-SVC-${n}`)
    await clock.advance(5_000)
    expect({ found, reads: kernel.reads }).toEqual({ found: [], reads: 1 })
    await kernel.ensureChain('nat', 'KUBE-SVC-GONE', never)
    changes.hear('nat/KUBE-SVC-GONE')
    await clock.advance(1_000)
    expect(found).toEqual(['chain nat/KUBE-SVC-GONE belongs to no Service'])
    await end()
  })

  test('does not read what a write of our own explains', async () => {
    const changes = new ScriptedChanges()
    const { kernel, clock, ownWrite, end } = await watched(() => changes)
    const writing = ownWrite(['nat/KUBE-SERVICES'])
    changes.hear('nat/KUBE-SERVICES', 'nat/OUTPUT')
    await writing
    await clock.advance(1_000)
    expect(kernel.chainReads).toEqual(['nat/OUTPUT'])
    await end()
  })

  test('looks at what all traffic passes first, when something was not heard', async () => {
    const changes = new ScriptedChanges()
    const { kernel, clock, watch, found, end } = await watched(() => changes)
    await kernel.restore('*nat\n-F KUBE-POSTROUTING\nCOMMIT\n', never)
    await watch.ownRewrite(() => Promise.resolve())
    await clock.advance(1_000)
    expect(found).toEqual(['chain nat/KUBE-POSTROUTING was changed'])
    expect(kernel.reads).toBe(0)
    await end()
  })
})

test('a table that was emptied is written as a whole, without reading all of it first', async () => {
  const changes = new ScriptedChanges()
  const { kernel, clock, watch, found, damages, end } = await watched(() => changes)
  await kernel.restore('*nat\n-F KUBE-POSTROUTING\n-F KUBE-MARK-MASQ\n-F KUBE-SERVICES\nCOMMIT\n', never)
  await watch.ownRewrite(() => Promise.resolve())
  await clock.advance(1_000)
  expect(found).toHaveLength(1)
  expect(damages[0]?.isTotal).toBe(true)
  expect(kernel.reads).toBe(0)
  await end()
})

test('what was read while a sync ran says nothing, and is read again', async () => {
  const changes = new ScriptedChanges()
  const { kernel, clock, watch, syncs, found, end } = await watched(() => changes)
  await kernel.ensureChain('nat', 'KUBE-SVC-HALF-WAY', never)
  const save = kernel.saveAll.bind(kernel)
  kernel.saveAll = async (...args) => {
    syncs.count++
    return save(...args)
  }
  await watch.ownRewrite(() => Promise.resolve())
  await clock.advance(1_000)
  expect(found).toEqual([])
  kernel.saveAll = save
  await clock.advance(1_000)
  expect(found).toEqual(['chain nat/KUBE-SVC-HALF-WAY belongs to no Service'])
  await end()
})
