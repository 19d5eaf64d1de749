/** The nftables mode: how syncs scale, and what a packet pays. */
import { namespaceProblem } from '../../packet/testing/namespace.ts'
import type { BenchGroup } from '../bench-group.ts'
import { compileScripts } from '../compiled-scripts.ts'
import { findKubeProxy } from '../daemon/proxy-program.ts'
import { firstPacket } from './first-packet.ts'
import { syncs } from './syncs.ts'

export const nftablesGroup: BenchGroup = {
  name: 'nftables',
  async run(options) {
    const problem = namespaceProblem()
    if (problem !== undefined) throw new Error(`the nftables group needs root on Linux, with nft: ${problem}`)
    options.progress('compiling what is measured, and looking for kube-proxy')
    await compileScripts()
    const peer = await findKubeProxy().catch((error: Error) => {
      options.progress(`measuring without kube-proxy: ${error.message}`)
      return undefined
    })
    return [await syncs(peer, options), await firstPacket(peer, options)]
  },
}
