/** The relay of the userspace mode: what it costs to see what it does. */
import type { BenchGroup } from '../bench-group.ts'
import { compileScripts } from '../compiled-scripts.ts'
import { observingCost } from './observing-cost.ts'
import { buildNativeEngine, buildPeer } from './relay-programs.ts'

export const userspaceObservingGroup: BenchGroup = {
  name: 'userspace-observing',
  async run(options) {
    options.progress('compiling what is measured, and building the client and the endpoint')
    await Promise.all([compileScripts(), buildPeer(), buildNativeEngine()])
    return [await observingCost('native', options), await observingCost('node', options)]
  },
}
