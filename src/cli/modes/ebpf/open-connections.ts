import type { EbpfBackend } from '../../../backends/ebpf/ebpf-backend.ts'
import type { OpenConnectionsReader } from '../mode.ts'

/**
 * The connection table shows a connection that was made at a socket as one to the endpoint, of no Service. A number that has
 * the clients of other machines only would be taken for that of all, so it is left out where sockets serve, too.
 */
export function ofPacketsAlone(
  reader: OpenConnectionsReader,
  sockets: Pick<EbpfBackend, 'isServedAtSockets'>,
): OpenConnectionsReader {
  return {
    async read(view, signal) {
      const open = await reader.read(view, signal)
      return new Map([...open].filter(([key]) => !sockets.isServedAtSockets(key)))
    },
    get note() {
      const others = 'open connections: known only of Services that are left to nftables'
      return reader.note === undefined ? others : `${others}; ${reader.note}`
    },
  }
}
