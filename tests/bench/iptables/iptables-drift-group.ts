/** The iptables mode: what it costs to keep watch, and how soon damage is repaired. */
import { namespaceProblem } from '../../packet/testing/namespace.ts'
import type { BenchGroup } from '../bench-group.ts'
import { compileScripts } from '../compiled-scripts.ts'
import { drift } from './drift.ts'
import { repairs } from './repairs.ts'

export const iptablesDriftGroup: BenchGroup = {
  name: 'iptables-drift',
  async run(options) {
    const problem = namespaceProblem()
    if (problem !== undefined)
      throw new Error(`the iptables-drift group needs root on Linux, with iptables: ${problem}`)
    options.progress('compiling what is measured')
    await compileScripts()
    return [await repairs(options), await drift(options)]
  },
}
