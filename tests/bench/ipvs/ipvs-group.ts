/** The ipvs mode on a real IPVS kernel: what the first sync and one changed endpoint cost, in time and in messages. */
import { guestProblem } from '../../ipvs/testing/guest.ts'
import type { BenchGroup } from '../bench-group.ts'
import { compileScripts } from '../compiled-scripts.ts'
import { findKubeProxy } from '../daemon/proxy-program.ts'
import { syncs } from './syncs.ts'

export const ipvsGroup: BenchGroup = {
  name: 'ipvs',
  async run(options) {
    const problem = await guestProblem()
    if (problem !== undefined) throw new Error(`the ipvs group runs in a guest: ${problem}`)
    options.progress('compiling the API server, and looking for kube-proxy')
    await compileScripts()
    const peer = await findKubeProxy().catch((error: Error) => {
      options.progress(`measuring without kube-proxy: ${error.message}`)
      return undefined
    })
    return [await syncs(peer, options)]
  },
}
