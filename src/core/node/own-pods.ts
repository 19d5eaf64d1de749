/**
 * Pods of this node, where the configuration knows those of the whole cluster only (`detectLocalMode: ClusterCIDR`). For
 * rules of the kernel the difference hardly matters: when a pod of another node asks this one and is led on to a third,
 * its address is kept, the answer goes straight back to it, and it knows nothing of who answers. A relay would serve it,
 * against a policy that lets this node serve nobody from outside.
 */
import { cidrContains, parseCidr, renderCidr } from '../../net/ip.ts'
import type { Cidr } from '../../net/ip.ts'
import { isSameData } from '../same-data.ts'
import type { Endpoint } from '../route.ts'
import type { LocalTraffic } from './local-traffic.ts'

export class OwnPods {
  readonly #configured: LocalTraffic
  readonly #wide: Cidr | undefined
  /** What the Node says, and nothing has shown to be wrong. */
  #own: Cidr | undefined

  /** `podCIDRs` are those of this Node. */
  constructor(configured: LocalTraffic, podCIDRs: readonly string[]) {
    this.#configured = configured
    this.#wide = configured.kind === 'cidr' ? parseCidr(configured.cidr) : undefined
    this.#own = podCIDRs.map(parseCidr).find((cidr) => cidr !== undefined && isWithin(cidr, this.#wide))
  }

  get localTraffic(): LocalTraffic {
    return this.#own === undefined ? this.#configured : { kind: 'cidr', cidr: renderCidr(this.#own) }
  }

  /**
   * Some network plugins give pods addresses from elsewhere in the cluster's range, whatever the Node says. A single pod of
   * this node shows it, and from then on the configuration counts.
   */
  note(endpoints: Iterable<Endpoint>): void {
    if (this.#own === undefined) return
    for (const { ip, isLocal } of endpoints) {
      const isElsewhere = isLocal && isIn(this.#wide, ip) && !isIn(this.#own, ip)
      if (isElsewhere) return void (this.#own = undefined)
    }
  }
}

/**
 * When the configuration or the Node names other addresses, what pods have shown counts no more: the sync that follows
 * looks at all.
 */
export function followOwnPods(): (configured: LocalTraffic, podCIDRs: readonly string[]) => OwnPods {
  let last: { readonly from: object; readonly pods: OwnPods } | undefined
  return (configured, podCIDRs) => {
    const from = { configured, podCIDRs }
    if (last === undefined || !isSameData(last.from, from)) last = { from, pods: new OwnPods(configured, podCIDRs) }
    return last.pods
  }
}

function isWithin(narrow: Cidr, wide: Cidr | undefined): boolean {
  return (
    wide !== undefined &&
    narrow.family === wide.family &&
    narrow.prefixLength >= wide.prefixLength &&
    cidrContains(wide, narrow.network)
  )
}

function isIn(cidr: Cidr | undefined, ip: string): boolean {
  return cidr !== undefined && cidrContains(cidr, ip)
}
