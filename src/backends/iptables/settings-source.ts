/** Where the settings come from: the configuration, the tools, the kernel, and the node's addresses of the moment. */
import type { Logger } from '../../core/logger.ts'
import { nodePortAddresses, nodePortIps } from '../../core/node/node-port-addresses.ts'
import type { TrafficSettings } from '../../core/node/traffic-settings.ts'
import type { Iptables } from '../../dataplane/iptables/iptables.ts'
import type { CounterName } from '../../dataplane/iptables/language/counters.ts'
import type { IptablesSettings } from './settings.ts'
import { counterNames, noCounters } from '../../dataplane/iptables/language/counters.ts'

/** What the configuration says. */
export interface FixedSettings extends TrafficSettings {
  /** `iptables.localhostNodePorts`; counts for IPv4, and only when node ports are open on loopback at all. */
  readonly localhostNodePorts: boolean
  readonly dropsInvalid: boolean
}

export interface SettingsSourceOptions {
  /** As of the sync that runs. */
  readonly fixed: () => FixedSettings
  readonly iptables: Pick<Iptables, 'features'>
  /** Makes a kernel counter if it is missing; false when this kernel has none. */
  readonly ensureCounter: (name: string, signal: AbortSignal) => Promise<boolean>
  readonly log: Logger
}

export class SettingsSource {
  readonly #options: SettingsSourceOptions
  #counters = noCounters
  #hasGivenUpCounters = false

  constructor(options: SettingsSourceOptions) {
    this.#options = options
  }

  /** Counters are looked at for a full sync only: a change of theirs needs one. */
  async current({ isFull }: { readonly isFull: boolean }, signal: AbortSignal): Promise<IptablesSettings> {
    const { hasRandomFully } = await this.#options.iptables.features(signal)
    if (isFull && !this.#hasGivenUpCounters)
      this.#counters = {
        invalidDropped: await this.#ensureCounter('invalidDropped', signal),
        localhostAccepted: await this.#ensureCounter('localhostAccepted', signal),
      }
    return complete(this.#options.fixed(), { hasRandomFully, counters: this.#counters })
  }

  /** Rules that name a counter are refused here, although the counters themselves can be made. */
  giveUpCounters(): void {
    this.#hasGivenUpCounters = true
    this.#counters = noCounters
    this.#options.log.warn('rules cannot use kernel counters on this node; they are written without')
  }

  async #ensureCounter(counter: CounterName, signal: AbortSignal): Promise<boolean> {
    const name = counterNames[counter]
    try {
      return await this.#options.ensureCounter(name, signal)
    } catch (error) {
      if (signal.aborted) throw error
      this.#options.log.warn('a kernel counter is not available; its rule is written without it', {
        counter: name,
        error,
      })
      return false
    }
  }
}

/** What an ordinary node has, for `render`: a recent iptables, and both counters. */
export function assumedSettings(fixed: FixedSettings): IptablesSettings {
  return complete(fixed, { hasRandomFully: true, counters: { invalidDropped: true, localhostAccepted: true } })
}

type Found = Pick<IptablesSettings, 'hasRandomFully' | 'counters'>

function complete(fixed: FixedSettings, found: Found): IptablesSettings {
  const { family, localTraffic, masqueradeAll, masqueradeMark, dropsInvalid, localhostNodePorts } = fixed
  const addresses = nodePortAddresses(fixed.nodePortAddresses, family)
  const hasLocalhostNodePorts = localhostNodePorts && addresses.containsLoopback
  return {
    family,
    localTraffic,
    masqueradeAll,
    masqueradeMark,
    dropsInvalid,
    hasLocalhostNodePorts,
    nodePortIps: hasLocalhostNodePorts
      ? nodePortIps(addresses, fixed.localIps(), () => true)
      : nodePortIps(addresses, fixed.localIps()),
    ...found,
  }
}
