import { within } from '../../core/trace.ts'
import type { Span } from '../../core/trace.ts'
import type { Family } from '../../net/ip.ts'
import type { ModeBackend, ModeOnNode } from '../modes/mode.ts'
import type { Daemon } from './daemon.ts'
import { refuseAlgorithm } from './refuse-algorithm.ts'

export interface FamilyBackend extends ModeBackend {
  readonly family: Family
}

/** One for each family, or none: when one cannot be made, those before it end, because they would keep the process alive. */
export async function openBackends(
  mode: ModeOnNode,
  families: readonly Family[],
  daemon: Pick<Daemon, 'algorithm'>,
  span: Span,
  signal: AbortSignal,
): Promise<readonly FamilyBackend[]> {
  const opened: FamilyBackend[] = []
  try {
    for (const family of families) {
      const open = () => mode.createBackend(family, signal)
      const one = await within(span, 'open', open, { 'network.type': family })
      opened.push({ family, ...one })
      if (one.abilities !== undefined) refuseAlgorithm(daemon, one.abilities)
    }
    return opened
  } catch (error) {
    await Promise.all(opened.map(({ backend }) => backend[Symbol.asyncDispose]()))
    throw error
  }
}
