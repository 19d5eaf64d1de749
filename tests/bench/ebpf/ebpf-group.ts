/** The ebpf mode next to our nftables mode and kube-proxy's: what a sync costs, and what clients on the node notice. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import { compileEbpf } from '../../../tools/compile-ebpf.ts'
import type { BenchGroup } from '../bench-group.ts'
import { compileScripts } from '../compiled-scripts.ts'
import { RealTime } from '../real-time.ts'
import { findKubeProxy } from '../daemon/proxy-program.ts'
import { object, peer } from './built-programs.ts'
import { daemons } from './daemons.ts'
import { syncs } from './syncs.ts'
import { traffic } from './traffic.ts'

export const ebpfGroup: BenchGroup = {
  name: 'ebpf',
  async run(options) {
    options.progress('compiling what is measured')
    await Promise.all([compileScripts(), compileEbpf(object), compilePeer()])
    const kubeProxy = await findKubeProxy().catch((error: Error) => {
      options.progress(`measuring without kube-proxy: ${error.message}`)
      return undefined
    })
    using _ahead = new RealTime()
    return [...(await syncs(options)), await daemons(kubeProxy, options), await traffic(kubeProxy, options)]
  },
}

async function compilePeer(): Promise<void> {
  const source = fileURLToPath(new URL('./peer.c', import.meta.url))
  const flags = ['-O2', '-Wall', '-Wextra', '-Werror']
  await promisify(execFile)('cc', [...flags, '-o', peer, source]).catch((cause: unknown) => {
    throw new Error('the clients and the endpoints could not be built: install a C compiler', { cause })
  })
}
