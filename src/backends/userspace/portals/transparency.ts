/** Lets pods of this node see the client's own address, for the Services that want it and while one does. */
import type { NodeView } from '../../../core/backend.ts'
import type { Logger } from '../../../core/logger.ts'
import type { Route, RouteKey } from '../../../core/route.ts'
import { IptablesError } from '../../../dataplane/iptables/iptables.ts'
import type { Iptables } from '../../../dataplane/iptables/iptables.ts'
import type { RulesByChain } from '../../../dataplane/iptables/save-text.ts'
import type { MarkedDelivery } from '../../../dataplane/marked-delivery/marked-delivery.ts'
import type { Relay } from '../../../dataplane/relay/relay.ts'
import type { Sysctl } from '../../../dataplane/sysctl/sysctl.ts'
import type { Family } from '../../../net/ip.ts'
import type { KernelState } from '../../../dataplane/iptables/language/kernel-state.ts'
import { RestoreInput } from '../../../dataplane/iptables/language/restore-input.ts'
import { answerChains, findAnswerDrift, removalOfAnswerRules, writeAnswerRules } from './answer-rules.ts'

export interface TransparencyOptions {
  readonly relay: Relay
  readonly iptables: Iptables
  readonly delivery: MarkedDelivery
  readonly sysctl: Pick<Sysctl, 'read'>
  readonly log: Logger
}

/** Long enough for a busy machine, and shorter than those who stop us wait. */
const removalTimeoutMs = 10_000

export class Transparency implements AsyncDisposable {
  readonly #options: TransparencyOptions
  readonly #wishingKeys = new Set<RouteKey>()
  /** Whether answers are led back to the relay: not known after a start or a failure, and some kernels cannot. */
  #answers: 'unknown' | 'not led' | 'led' | 'cannot be led' = 'unknown'
  #hasSaidWhyNot = false

  constructor(options: TransparencyOptions) {
    this.#options = options
  }

  /** Endpoints that wish it, and are on this node, may be dialled from the client's address. */
  get isOn(): boolean {
    return this.#answers === 'led' && this.#wishingKeys.size > 0
  }

  /** Sees to it that answers are led back before the first endpoint is dialled so. */
  async prepare(
    { routesByKey }: NodeView,
    { keys, isFull }: { readonly keys: readonly RouteKey[]; readonly isFull: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    if (isFull) this.#wishingKeys.clear()
    for (const key of keys)
      if (wishesTransparency(routesByKey.get(key))) this.#wishingKeys.add(key)
      else this.#wishingKeys.delete(key)
    if (this.#wishingKeys.size === 0) return
    if (this.#options.relay.transparentConnections === undefined)
      return this.#sayWhyNot('only the native engine supports it, with CAP_NET_RAW; see --userspace-engine')
    const isSettled = this.#answers === 'led' || this.#answers === 'cannot be led'
    if (!isSettled || isFull) await this.#lead(signal)
  }

  /** Takes the rules away when nobody wants them any more, and no open connection needs them. */
  async tidy(signal: AbortSignal): Promise<void> {
    if (this.#wishingKeys.size > 0 || this.#answers === 'not led') return
    if ((this.#options.relay.transparentConnections?.() ?? 0) > 0) return
    try {
      await this.#remove(signal)
    } catch (error) {
      signal.throwIfAborted()
      this.#answers = 'unknown'
      this.#options.log.warn('could not remove unused rules; retried at the next change', { error })
    }
  }

  findDrift({ mangle = new Map() }: KernelState): string | undefined {
    return this.#answers === 'led' ? findAnswerDrift(mangle, this.#options.iptables.family) : undefined
  }

  /** To be called when the relay's connections have ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#answers === 'not led') return
    try {
      await this.#remove(AbortSignal.timeout(removalTimeoutMs))
    } catch (error) {
      this.#options.log.warn('could not remove the rules for transparent connections: run fairlead --cleanup', {
        error,
      })
    }
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const { iptables, delivery, sysctl } = this.#options
    const { family } = iptables
    const obstacle = await findObstacle(family, sysctl)
    this.#answers = obstacle === undefined ? 'unknown' : 'cannot be led'
    if (obstacle !== undefined) return this.#sayWhyNot(obstacle)
    try {
      await delivery.ensure(family, signal)
      const input = new RestoreInput()
      writeAnswerRules(await this.#read(signal), family, input)
      await iptables.restore(input.render(), signal)
      this.#answers = 'led'
    } catch (error) {
      signal.throwIfAborted()
      this.#answers = 'cannot be led'
      this.#sayWhyNot('the kernel refused the rules', error)
    }
  }

  async #remove(signal: AbortSignal): Promise<void> {
    const { iptables, delivery } = this.#options
    const { family } = iptables
    const input = removalOfAnswerRules(await this.#read(signal), family)
    if (input !== undefined) await iptables.restore(input.render(), signal)
    await delivery.remove(family, signal)
    this.#answers = 'not led'
  }

  /** Only the chains that matter: all rules of a large cluster take a second. */
  async #read(signal: AbortSignal): Promise<RulesByChain> {
    const rulesByChain = new Map<string, readonly string[]>()
    try {
      for (const chain of answerChains) {
        const rules = await this.#options.iptables.chainRules('mangle', chain, signal)
        if (rules !== undefined) rulesByChain.set(chain, rules)
      }
    } catch (error) {
      // A kernel without the table has nothing in it.
      if (!(error instanceof IptablesError) || error.reason !== 'unsupported') throw error
    }
    return rulesByChain
  }

  #sayWhyNot(reason: string, error?: unknown): void {
    if (this.#hasSaidWhyNot) return
    this.#hasSaidWhyNot = true
    const [first = ''] = this.#wishingKeys
    this.#options.log.warn('pods see the address of the node, although a Service asks for that of the client', {
      service: first,
      family: this.#options.iptables.family,
      reason,
      ...(error !== undefined && { error }),
    })
  }
}

/** With this setting the kernel looks for the way back to a pod with the mark of its answer, and finds itself. */
async function findObstacle(family: Family, sysctl: TransparencyOptions['sysctl']): Promise<string | undefined> {
  if (family === 'ipv6' || (await sysctl.read('net/ipv4/conf/all/src_valid_mark')) !== '1') return undefined
  return 'the kernel would drop the answers of pods, because net.ipv4.conf.all.src_valid_mark is 1 (wg-quick sets it)'
}

export function wishesTransparency(route: Route | undefined): boolean {
  return route?.relaying?.clientAddress === 'transparent' && route.protocol === 'TCP'
}
