/** What the group compiles besides its scripts. */
import { fileURLToPath } from 'node:url'

const folder = new URL('../../../.cache/bench/', import.meta.url)

/** The programs at sockets. */
export const object = fileURLToPath(new URL('fairlead.bpf.o', folder))
/** The clients and the endpoints. */
export const peer = fileURLToPath(new URL('ebpf-peer', folder))
