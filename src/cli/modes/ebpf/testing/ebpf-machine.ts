/** What a host in memory needs to run the ebpf mode: a kernel, a cgroup, a BPF file system, and a file with one program. */
import { cgroup } from '../../../../backends/ebpf/testing/memory-node.ts'
import type { Bpf } from '../../../../dataplane/ebpf/bpf.ts'
import type { PlaceFiles } from '../../../../dataplane/ebpf/places.ts'
import { allow, buildElf, codeFlags } from '../../../../dataplane/ebpf/testing/object-builder.ts'
import type { MemoryHostOptions } from '../../../host/testing/memory-host.ts'

export const pins = '/bpf/fairlead'
export const placeFlags = [`--ebpf-cgroup=${cgroup}`, `--ebpf-pins=${pins}`]

/** The kernel of a MemoryNode. */
export function ebpfMachine(bpf: Bpf): MemoryHostOptions {
  return {
    openBpf: async () => bpf,
    openPlaceFiles: async () => placeFiles,
    readEbpfObject: async () => object,
  }
}

const object = buildElf(
  [
    { name: 'license', content: Buffer.from('Apache-2.0\0') },
    { name: 'cgroup/connect4', flags: codeFlags, content: allow },
  ],
  [{ name: 'fl_connect4', kind: 'function', section: 2 }],
)
const [cgroup2, bpffs] = [0x63677270, 0xcafe4a11]

const placeFiles: PlaceFiles = {
  readText: async () => '',
  list: async () => [],
  readLink: async () => '',
  fileSystem: async (path) => (path === cgroup ? cgroup2 : bpffs),
  inode: async () => 77n,
  makeFolder: async () => {},
  mount: async () => 0,
}
