/** The iptables mode: what it writes, and how long a sync takes. */
import { namespaceProblem } from '../../packet/testing/namespace.ts'
import type { BenchGroup } from '../bench-group.ts'
import { compileScripts } from '../compiled-scripts.ts'
import { building } from './building.ts'
import { findKubeProxy } from '../daemon/proxy-program.ts'
import { syncs } from './syncs.ts'

export const iptablesGroup: BenchGroup = {
  name: 'iptables',
  async run(options) {
    const problem = namespaceProblem()
    if (problem !== undefined) throw new Error(`the iptables group needs root on Linux, with iptables: ${problem}`)
    options.progress('compiling what is measured, and looking for kube-proxy')
    await compileScripts()
    const peer = await findKubeProxy().catch((error: Error) => {
      options.progress(`measuring without kube-proxy: ${error.message}`)
      return undefined
    })
    return [await building(peer, options), await syncs(peer, options)]
  },
}
