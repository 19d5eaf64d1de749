/** What differs between kube-proxy and Fairlead, as data: the command prints it, and docs/differences.md is made of it. */
import type { ProxyMode } from '../../config/proxy-config.ts'

/** The first needs somebody to decide or to do something before the move. */
export type Attention = 'decide' | 'differs' | 'same'

export interface Difference {
  /** An option by its name, a behaviour by one that can be searched for. */
  readonly name: string
  readonly kind: 'option' | 'behaviour'
  readonly attention: Attention
  readonly kubeProxy: string
  readonly fairlead: string
  /** Empty: nothing. */
  readonly action: string
  readonly rollback: string
}

/** What the configuration of kube-proxy says, as far as a behaviour depends on it. */
export interface Facts {
  readonly from: ProxyMode
  readonly to: ProxyMode
  /** The value of a field of the file, or of the flag that stands for it; undefined if it is not set. */
  readonly value: (field: string) => unknown
}

/** A difference that does not come from one option. */
export interface Behaviour {
  readonly name: string
  /** kube-proxy's modes that it is about. */
  readonly from: readonly ProxyMode[]
  /** Fairlead's. */
  readonly to: readonly ProxyMode[]
  readonly when?: (facts: Facts) => boolean
  readonly attention: Exclude<Attention, 'same'>
  readonly kubeProxy: string
  readonly fairlead: string
  readonly action: string
  readonly rollback: string
  /** The test, or where there is none the code, that has what is said of Fairlead. */
  readonly shownBy: string
}

/** kube-proxy's. */
export const linuxModes = ['iptables', 'ipvs', 'nftables', 'userspace'] as const satisfies readonly ProxyMode[]
/** Fairlead's. */
export const ourLinuxModes = [...linuxModes, 'ebpf'] as const satisfies readonly ProxyMode[]
/** kube-proxy's. */
export const allModes = [...linuxModes, 'kernelspace'] as const satisfies readonly ProxyMode[]
/** Fairlead's. */
export const allOurModes = [...ourLinuxModes, 'kernelspace'] as const satisfies readonly ProxyMode[]

/** Of most behaviours nothing stays on the node. */
export const comesBack = 'Nothing to undo: it is as before once kube-proxy runs again.'

export type Sentences = Pick<Behaviour, 'name' | 'kubeProxy' | 'fairlead' | 'shownBy'> & Partial<Behaviour>

/** Rows of one kind: each says only what is its own. */
export function behaviours(
  { from, to }: Pick<Behaviour, 'from' | 'to'>,
  rows: readonly Sentences[],
): readonly Behaviour[] {
  return rows.map((row) => ({ from, to, attention: 'differs', action: '', rollback: comesBack, ...row }))
}

export function appliesTo(behaviour: Behaviour, facts: Facts): boolean {
  const { from, to, when } = behaviour
  return from.includes(facts.from) && to.includes(facts.to) && (when === undefined || when(facts))
}
