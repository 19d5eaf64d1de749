/**
 * Reads load balancers, and as few of them as possible. What was read or written of an id is remembered, also after a failed
 * sync: to read thousands takes long. It stays true as long as HNS lists the load balancer as before.
 */
import { loadBalancerFlags } from '../../dataplane/hcn/hcn.ts'
import type { Hcn, LoadBalancerSettings, LoadBalancerSummary } from '../../dataplane/hcn/hcn.ts'

export interface FoundBalancer {
  readonly id: string
  readonly settings: LoadBalancerSettings
  /** HNS can no longer forward with it. */
  readonly isDegraded: boolean
}

export class BalancerReader {
  readonly #hcn: Pick<Hcn, 'loadBalancerIds' | 'loadBalancerSummaries' | 'loadBalancer'>
  readonly #settingsById = new Map<string, LoadBalancerSettings>()
  /** How HNS lists those that it lists in another way than we would expect; without it they would be read over and over. */
  readonly #oddTextsById = new Map<string, string>()

  constructor(hcn: Pick<Hcn, 'loadBalancerIds' | 'loadBalancerSummaries' | 'loadBalancer'>) {
    this.#hcn = hcn
  }

  /** Two calls, and a few for each that is new, or listed in another way than before. */
  async readAll(signal: AbortSignal): Promise<readonly FoundBalancer[]> {
    const ids = await this.#hcn.loadBalancerIds(signal)
    const summaries = new Map((await this.#hcn.loadBalancerSummaries(signal)).map((it) => [it.id, it]))
    const found: FoundBalancer[] = []
    for (const id of ids) {
      const summary = summaries.get(id)
      const settings = await this.#settings(id, summary, signal)
      if (settings !== undefined) found.push({ id, settings, isDegraded: summary?.isDegraded === true })
    }
    this.#forgetAllBut(new Set(ids))
    return found
  }

  /** Whether the list says what it says of a load balancer with these settings. */
  isListedAs(id: string, settings: LoadBalancerSettings, summary: LoadBalancerSummary | undefined): boolean {
    return textOf(summary) === expectedText(settings) || textOf(summary) === this.#oddTextsById.get(id)
  }

  remember(id: string, settings: LoadBalancerSettings): void {
    this.#settingsById.set(id, settings)
  }

  /** Nobody knows how it is now. */
  forget(id: string): void {
    this.#settingsById.delete(id)
    this.#oddTextsById.delete(id)
  }

  async #settings(
    id: string,
    summary: LoadBalancerSummary | undefined,
    signal: AbortSignal,
  ): Promise<LoadBalancerSettings | undefined> {
    const known = this.#settingsById.get(id)
    if (known !== undefined && this.isListedAs(id, known, summary)) return known
    this.forget(id)
    const found = await this.#hcn.loadBalancer(id, signal)
    if (found === undefined) return undefined
    const { id: _, ...settings } = found
    this.remember(id, settings)
    if (textOf(summary) !== expectedText(settings)) this.#oddTextsById.set(id, textOf(summary))
    return settings
  }

  #forgetAllBut(ids: ReadonlySet<string>): void {
    for (const id of this.#settingsById.keys()) if (!ids.has(id)) this.forget(id)
  }
}

/** Everything that a summary tells, but whether it is degraded. */
function textOf(summary: Omit<LoadBalancerSummary, 'id' | 'isDegraded'> | undefined): string {
  if (summary === undefined) return 'not listed'
  const { endpoints, vip, protocol, internalPort, externalPort, sourceVip, isDsr } = summary
  const ids = [...new Set(endpoints)].sort()
  return [protocol, vip ?? 'any', externalPort, internalPort, sourceVip ?? '-', isDsr, ...ids].join(' ')
}

function expectedText(settings: LoadBalancerSettings): string {
  return textOf({ ...settings, isDsr: (settings.flags & loadBalancerFlags.dsr) !== 0 })
}
