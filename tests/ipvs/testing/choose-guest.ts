/** Which kernel runs the guests of this machine: the first that is seen to boot. */
import { guestKernelNames } from './guest-kernel.ts'
import type { GuestKernelName } from './guest-kernel.ts'

export interface Candidate {
  readonly name: GuestKernelName
  /** Tries it. Why it cannot run a guest here, or undefined when it can. */
  readonly problem: () => Promise<string | undefined>
}

export interface GuestChoice {
  /** Undefined when there is none. */
  readonly name: GuestKernelName | undefined
  /** Why not those that come before it. */
  readonly passedOver: string
}

/** `wanted` leaves no choice but this one; undefined or empty when any will do. */
export async function chooseGuest(candidates: readonly Candidate[], wanted?: string): Promise<GuestChoice> {
  const isAnyWanted = wanted === undefined || wanted === ''
  if (!isAnyWanted && !guestKernelNames.some((name) => name === wanted))
    throw new Error(`GUEST_KERNEL is "${wanted}"; it can be ${guestKernelNames.join(', ')}`)
  const problems: string[] = []
  for (const { name, problem } of candidates.filter(({ name }) => isAnyWanted || name === wanted)) {
    const answer = await problem()
    if (answer === undefined) return { name, passedOver: problems.join('; ') }
    problems.push(`${name}: ${answer}`)
  }
  return { name: undefined, passedOver: problems.join('; ') }
}
