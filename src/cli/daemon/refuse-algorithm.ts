/** `--algorithm` is for all Services that do not say, so a node that cannot do it must not pretend. */
import type { ModeAbilities } from '../../core/routing/mode-abilities.ts'
import { CommandError } from '../program.ts'
import type { Daemon } from './daemon.ts'

export function refuseAlgorithm(
  { algorithm }: Pick<Daemon, 'algorithm'>,
  { mode, algorithms, lacking }: ModeAbilities,
): void {
  if (algorithm === '' || algorithms.includes(algorithm)) return
  const why = lacking?.[algorithm] ?? `the ${mode} mode cannot do that`
  const instead = algorithms.length === 0 ? 'leave the flag out' : `it can do ${algorithms.join(', ')}`
  throw new CommandError(`--algorithm=${algorithm}: ${why}; ${instead}`)
}
