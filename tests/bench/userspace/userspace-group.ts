/** The relay of the userspace mode: what a connection through it costs, next to other relays. */
import type { BenchGroup } from '../bench-group.ts'
import { compileScripts } from '../compiled-scripts.ts'
import { idleConnections } from './idle-connections.ts'
import { kubeProxyRelays } from './kube-proxy-relay.ts'
import { buildNativeEngine, buildPeer, relayPrograms } from './relay-programs.ts'
import { traffic } from './traffic.ts'

export const userspaceGroup: BenchGroup = {
  name: 'userspace',
  async run(options) {
    options.progress('compiling what is measured, and building the peer')
    await Promise.all([compileScripts(), buildPeer(), buildNativeEngine()])
    const programs = [...(await relayPrograms(options)), ...kubeProxyRelays(options)]
    return [await traffic(programs, options), await idleConnections(programs, options)]
  },
}
