/** What the fixed chains depend on: the settings, and which sets have something in them. */
import type { Match } from '../../dataplane/iptables/language/rule.ts'
import { comment } from '../../dataplane/iptables/language/rule.ts'
import { ipSets, setName } from './ip-sets.ts'
import type { SetId } from './ip-sets.ts'
import type { IpvsSettings } from './settings.ts'

export interface ChainContext {
  readonly settings: IpvsSettings
  /** A rule that asks an empty set matches nothing; kube-proxy leaves most of those out. */
  isFilled(set: SetId): boolean
}

export function inSet({ settings }: ChainContext, set: SetId, ends: string): Match {
  return { kind: 'ip-set', name: setName(set, settings.family), ends }
}

/** The same, with the comment that says what the set is for. */
export function explainedSet(context: ChainContext, set: SetId, ends: string): readonly Match[] {
  return [comment(ipSets[set].comment), inSet(context, set, ends)]
}
