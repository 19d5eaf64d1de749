/** One Fairlead takes over from another while clients are at work: what all modes have in common. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, vi } from 'vitest'
import { families } from '../../../src/net/ip.ts'
import { answerDeadlineMs } from './answer-deadline.ts'
import { plans } from './address-plan.ts'
import type { Cluster } from './cluster.ts'
import { FairleadProcess } from './fairlead.ts'
import { fetchFrom } from './fetch-from.ts'
import { NodeProcess } from './node-process.ts'
import type { Rig } from './rig.ts'
import type { ServiceFixture } from './service-fixture.ts'
import { healthPortOf } from './service-fixture.ts'

/** On a busy machine a process needs seconds to start, and some machines are slow. */
export const whileItStarts = { timeout: Number(process.env['PROGRAMMING_DEADLINE_MS'] ?? 60_000), interval: 20 }

/** What was dropped once counts as late, not as failed. */
const patienceMs = answerDeadlineMs(10_000)

/** Asks the health check ports of the Service, as a load balancer does, until it is told to stop. */
export class Probes implements AsyncDisposable {
  readonly failures: string[] = []
  count = 0
  readonly #rig: Rig
  readonly #workers: readonly Promise<void>[]
  #isOver = false

  constructor(rig: Rig, service: ServiceFixture) {
    this.#rig = rig
    this.#workers = families.map((family) => this.#probe(plans[family].nodeIP, healthPortOf(service)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#workers)
  }

  async #probe(ip: string, port: number): Promise<void> {
    const outside = this.#rig.cluster.host('outside')
    while (!this.#isOver) {
      const answer = await fetchFrom(outside, ip, port, '/', patienceMs).catch((error: unknown) => String(error))
      const isRight = typeof answer !== 'string' && answer.status === 200
      if (isRight) this.count++
      // The port opens after the rules.
      else if (this.count > 1) this.failures.push(`${new Date().toISOString()} ${ip}: ${JSON.stringify(answer)}`)
      await sleep(1)
    }
  }
}

/** Resolves when the second serves and the first, which was told nothing, has ended by itself. */
export async function takesOver(first: FairleadProcess, second: FairleadProcess): Promise<void> {
  second.run()
  await vi.waitFor(() => expect(second.log()).toContain('took over from the proxy before this one'), whileItStarts)
  expect(first.log()).toContain('another proxy serves in the place of this one')
}

export async function endsByItself(proxy: FairleadProcess): Promise<void> {
  await vi.waitFor(() => expect(proxy.isRunning).toBe(false), whileItStarts)
}

export function processOf({ proxy }: Rig): FairleadProcess {
  if (proxy instanceof FairleadProcess) return proxy
  throw new Error('this test starts Fairlead')
}

export interface Writes extends AsyncDisposable {
  seen(): readonly string[]
}

/** nftables tells who changes something. iptables-legacy does not, but a rule that is written begins to count at zero. */
export async function watchWrites(cluster: Cluster, name: string): Promise<Writes> {
  if (name.includes('legacy')) return watchCounters(cluster)
  const monitor = new NodeProcess(cluster.node, 'nft', ['monitor', 'ruleset'])
  // It listens when it has told of something.
  const probe = () => cluster.node.run('nft', ['-f', '-'], { input: 'add table inet probe\ndelete table inet probe\n' })
  await vi.waitFor(() => {
    probe()
    expect(monitor.output).toContain('probe')
  }, whileItStarts)
  return {
    seen: () => monitor.output.split('\n').filter((line) => line.includes('fairlead') || line.includes('KUBE')),
    [Symbol.asyncDispose]: () => monitor[Symbol.asyncDispose](),
  }
}

function watchCounters({ node }: Cluster): Writes {
  const read = () =>
    ['iptables', 'ip6tables'].flatMap((tool) =>
      [...node.run(`${tool}-legacy-save`, ['-c', '-t', 'nat']).matchAll(/^\[(\d+):\d+\] (-A KUBE.*)$/gm)].map(
        ([, count, rule]) => ({ rule: `${tool} ${rule}`, count: Number(count) }),
      ),
    )
  const before = read().filter(({ count }) => count > 0)
  expect(before.length).toBeGreaterThan(4)
  return {
    seen: () => {
      const now = new Map(read().map(({ rule, count }) => [rule, count]))
      return before.filter(({ rule, count }) => (now.get(rule) ?? 0) < count).map(({ rule }) => rule)
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}
