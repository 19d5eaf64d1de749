/** Lets pods see the client's own address, for the Services that keep it and while there is one. */
import type { NodeView } from '../../../core/backend.ts'
import type { Logger } from '../../../core/logger.ts'
import type { Route, RouteKey } from '../../../core/route.ts'
import { IptablesError } from '../../../dataplane/iptables/iptables.ts'
import type { Iptables } from '../../../dataplane/iptables/iptables.ts'
import type { RulesByChain } from '../../../dataplane/iptables/save-text.ts'
import type { MarkedDelivery } from '../../../dataplane/marked-delivery/marked-delivery.ts'
import type { Relay } from '../../../dataplane/relay/relay.ts'
import type { KernelState } from '../../../dataplane/iptables/language/kernel-state.ts'
import { RestoreInput } from '../../../dataplane/iptables/language/restore-input.ts'
import { NetlinkError } from '../../../dataplane/netlink/netlink-error.ts'
import {
  answerChains,
  findAnswerDrift,
  isPutFirstAgain,
  obstacle,
  removalOfAnswerRules,
  writeAnswerRules,
} from './answer-rules.ts'

export interface TransparencyOptions {
  readonly relay: Relay
  readonly iptables: Iptables
  readonly delivery: MarkedDelivery
  /** False: the operator wants pods to see the node, whatever Services want. */
  readonly keepsClients?: boolean
  readonly log: Logger
}

export interface Preparation {
  /** Routes to look at. */
  readonly keys: readonly RouteKey[]
  /** They are all there are. */
  readonly isFull: boolean
  /** Whether the route wants the address of some client to be kept. */
  readonly keeps: (route: Route) => boolean
}

/** Long enough for a busy machine, and shorter than those who stop us wait. */
const removalTimeoutMs = 10_000

export class Transparency implements AsyncDisposable {
  readonly #options: TransparencyOptions
  readonly #keepingKeys = new Set<RouteKey>()
  /** Whether answers are led back to the relay: not known after a start or a failure, and some kernels cannot. */
  #answers: 'unknown' | 'not led' | 'led' | 'cannot be led' = 'unknown'
  /** Somebody had put his rule before ours, and ours was put first again. Twice would be a quarrel without an end. */
  #wasPutFirstAgain = false
  #whyNot: string | undefined

  constructor(options: TransparencyOptions) {
    this.#options = options
  }

  /** Endpoints may be dialled from the client's address. */
  get isOn(): boolean {
    return this.#answers === 'led'
  }

  /** Why they are not, as far as somebody has wanted it. */
  get whyNot(): string | undefined {
    if (this.isOn) return undefined
    return this.#options.keepsClients === false ? '--userspace-client-address=node' : this.#whyNot
  }

  /** Sees to it that answers are led back before the first endpoint is dialled so. */
  async prepare({ routesByKey }: NodeView, { keys, isFull, keeps }: Preparation, signal: AbortSignal): Promise<void> {
    if (isFull) this.#keepingKeys.clear()
    if (this.#options.keepsClients === false) return
    for (const key of keys) {
      const route = routesByKey.get(key)
      if (route !== undefined && keeps(route)) this.#keepingKeys.add(key)
      else this.#keepingKeys.delete(key)
    }
    if (this.#keepingKeys.size === 0) return
    if (this.#options.relay.transparentConnections === undefined)
      return this.#sayWhyNot('only the native engine supports it, with CAP_NET_RAW; see --userspace-engine')
    const isSettled = this.#answers === 'led' || this.#answers === 'cannot be led'
    if (!isSettled || isFull) await this.#lead(signal)
  }

  /** Takes the rules away when nobody wants them any more, and no open connection needs them. */
  async tidy(signal: AbortSignal): Promise<void> {
    if (this.#keepingKeys.size > 0 || this.#answers === 'not led') return
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
    const { iptables, delivery } = this.#options
    const { family } = iptables
    try {
      await delivery.ensure(family, signal)
      const mangle = await this.#read(signal)
      const inTheWay = this.#notToBeOvertaken(mangle)
      if (inTheWay !== undefined) {
        this.#answers = 'cannot be led'
        return this.#sayWhyNot(`in mangle/PREROUTING another program keeps a rule before ours: ${inTheWay}`)
      }
      // A process that comes after another one finds them as they should be, and touches nothing.
      if (findAnswerDrift(mangle, family) !== undefined) {
        const input = new RestoreInput()
        writeAnswerRules(mangle, family, input)
        await iptables.restore(input.render(), signal)
      }
      this.#answers = 'led'
      this.#whyNot = undefined
    } catch (error) {
      signal.throwIfAborted()
      const isFinal = isRefusal(error)
      this.#answers = isFinal ? 'cannot be led' : 'unknown'
      this.#sayWhyNot(
        isFinal ? 'the kernel refused the rules' : 'the rules could not be written; the next sync tries again',
        error,
      )
    }
  }

  /** A rule before ours, if to put ours first would help for a moment only. */
  #notToBeOvertaken(mangle: RulesByChain): string | undefined {
    const { iptables, log } = this.#options
    const rule = obstacle(mangle, iptables.family)
    if (rule === undefined) return undefined
    if (isPutFirstAgain(rule)) return rule
    if (this.#answers !== 'led' && this.#answers !== 'cannot be led') return undefined
    if (this.#wasPutFirstAgain) return rule
    this.#wasPutFirstAgain = true
    log.info('somebody put a rule before ours in mangle/PREROUTING: ours is put first again, once', { rule })
    return undefined
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
    if (this.#whyNot === reason) return
    this.#whyNot = reason
    this.#options.log.warn('pods see the address of the node instead of that of the client', {
      family: this.#options.iptables.family,
      reason,
      ...(error !== undefined && { error }),
    })
  }
}

/** This machine cannot, and will not until somebody changes it. Anything else, such as a lock that others hold, passes. */
function isRefusal(error: unknown): boolean {
  if (error instanceof IptablesError) return error.reason === 'refused' || error.reason === 'unsupported'
  return error instanceof NetlinkError && error.reason === 'unsupported'
}
