import { expandPrimary } from '../../core/node/node-port-addresses.ts'
import type { Family } from '../../net/ip.ts'
import type { ModeSettings } from '../modes/mode.ts'
import type { Daemon } from './daemon.ts'
import type { ThisNode } from './node-at-start.ts'

/**
 * What a mode makes its rules from. A family takes over the running configuration when one of its syncs begins, so no
 * sync sees half of a change.
 */
export class NodeSettings {
  readonly #daemon: Pick<Daemon, 'running' | 'host'>
  readonly #node: Pick<ThisNode, 'record' | 'addresses'>
  readonly #settingsByFamily = new Map<Family, ModeSettings>()
  #podCIDRs: readonly string[]
  #now: ModeSettings

  constructor(daemon: Pick<Daemon, 'running' | 'host'>, node: Pick<ThisNode, 'record' | 'addresses'>) {
    this.#daemon = daemon
    this.#node = node
    this.#podCIDRs = node.record?.podCIDRs ?? []
    this.#now = this.with(daemon.running.config)
  }

  /** From the next sync of each family on. */
  usePodCIDRs(podCIDRs: readonly string[]): void {
    this.#podCIDRs = podCIDRs
  }

  /** Those of the configuration that runs; the same object for as long as it is the same. */
  now(): ModeSettings {
    const { config } = this.#daemon.running
    if (this.#now.config !== config || this.#now.podCIDRs !== this.#podCIDRs) this.#now = this.with(config)
    return this.#now
  }

  /** What the last sync of the family began with. */
  of(family: Family): ModeSettings {
    return this.#settingsByFamily.get(family) ?? this.now()
  }

  /** A sync of the family begins. */
  adopt(family: Family): ModeSettings {
    const settings = this.now()
    this.#settingsByFamily.set(family, settings)
    return settings
  }

  /** With another configuration, on this node. */
  with(config: ModeSettings['config']): ModeSettings {
    const { addresses } = this.#node
    return {
      config,
      nodePortAddresses: expandPrimary(config.nodePortAddresses, addresses.ips),
      podCIDRs: this.#podCIDRs,
      localIps: () => this.#daemon.host.localAddresses(),
    }
  }
}
