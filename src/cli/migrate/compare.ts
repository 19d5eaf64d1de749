/** Puts together what a move from this kube-proxy to this mode of Fairlead changes. */
import type { ProxyMode } from '../../config/proxy-config.ts'
import { allBehaviours } from './behaviours.ts'
import { allModes, appliesTo } from './difference.ts'
import type { Behaviour, Difference, Facts } from './difference.ts'
import { moveBetween } from './move.ts'
import type { Move } from './move.ts'
import { fieldAnswers, flagAnswers, flagOverrides, isUnset } from './options.ts'
import type { AnswerFor } from './options.ts'
import type { Given } from './read-given.ts'
import { readSetOptions, refusedValue } from './set-options.ts'
import type { Refusal, SetOption, SetOptions } from './set-options.ts'

export interface Comparison {
  readonly sources: readonly string[]
  readonly from: ProxyMode
  readonly to: ProxyMode
  /** Those that need a decision first. */
  readonly differences: readonly Difference[]
  /** Options that mean the same. */
  readonly same: readonly string[]
  readonly move: Move
}

export type Compared =
  { readonly ok: true; readonly comparison: Comparison } | { readonly ok: false; readonly problem: string }

export function compare(given: Given, toMode: ProxyMode | 'same'): Compared {
  const set = readSetOptions(given)
  const from = modeOf(set)
  const to = toMode === 'same' ? from : toMode
  if ((from === 'kernelspace') !== (to === 'kernelspace') && !(from === 'kernelspace' && to === 'userspace'))
    return {
      ok: false,
      problem: `kube-proxy in ${from} mode and Fairlead in ${to} mode run on different systems: kernelspace is for Windows`,
    }
  const facts: Facts = { from, to, value: (field) => set.options.find((option) => option.field === field)?.value }
  const platform = from === 'kernelspace' ? 'win32' : 'linux'
  const answered = set.options.map((option) => answer(option, facts))
  const differences = [
    ...unknownMode(set.mode),
    ...set.refusals.map(refused),
    ...set.problemsIn(to, platform).map(refused),
    ...answered,
    ...allBehaviours.filter((behaviour) => appliesTo(behaviour, facts)).map(asDifference),
  ]
  const others = withAttention(differences, 'differs')
  const inOrder = [
    ...withAttention(differences, 'decide'),
    // Those that name something to do or to look at first.
    ...others.filter(({ action }) => action !== ''),
    ...others.filter(({ action }) => action === ''),
  ]
  const same = withAttention(differences, 'same').map(({ name }) => name)
  return {
    ok: true,
    comparison: { sources: given.sources, from, to, differences: inOrder, same, move: moveBetween(from, to) },
  }
}

function asDifference({ name, attention, kubeProxy, fairlead, action, rollback }: Behaviour): Difference {
  return { name, kind: 'behaviour', attention, kubeProxy, fairlead, action, rollback }
}

function withAttention(differences: readonly Difference[], attention: Difference['attention']): readonly Difference[] {
  return differences.filter((difference) => difference.attention === attention)
}

/** What old command lines call the userspace mode of Windows. */
const otherNames: Readonly<Record<string, ProxyMode>> = { winuserspace: 'userspace' }

function modeOf({ mode, options }: SetOptions): ProxyMode {
  const isWindows = options.some(({ field, value }) => field?.startsWith('winkernel.') === true && !isUnset(value))
  const fallback = isWindows ? 'kernelspace' : 'iptables'
  return allModes.find((known) => known === mode) ?? otherNames[mode] ?? fallback
}

function unknownMode(mode: string): readonly Difference[] {
  if (mode === '' || allModes.some((known) => known === mode) || Object.hasOwn(otherNames, mode)) return []
  return [refused(refusedValue(`mode "${mode}" is unknown: this report is about iptables mode`, 'refused'))]
}

function answer(option: SetOption, facts: Facts): Difference {
  const answered = answerFor(option)(option.value, facts)
  return { name: option.name, kind: 'option', ...answered }
}

function answerFor({ field, flag }: SetOption): AnswerFor {
  const ofFlag = flag === undefined ? undefined : (flagOverrides[flag] ?? flagAnswers[flag])
  return ofFlag ?? fieldAnswers[field ?? ''] ?? unknownElsewhere
}

/** The decoder has told of it already, with its line. */
const unknownElsewhere: AnswerFor = () => ({ attention: 'same', kubeProxy: '', fairlead: '', action: '', rollback: '' })

const kubeProxyDoes = {
  refused: 'kube-proxy 1.36 does not start with it either.',
  ignored: 'A warning; it is ignored.',
  accepted: 'kube-proxy 1.36 accepts it.',
} as const

function refused({ name, problem, inKubeProxy }: Refusal): Difference {
  return {
    name,
    kind: 'option',
    attention: 'decide',
    kubeProxy: kubeProxyDoes[inKubeProxy],
    fairlead: `It does not start: ${problem}`,
    action: 'Correct it, or remove it.',
    rollback: 'Nothing to undo: kube-proxy reads the corrected one, too.',
  }
}
