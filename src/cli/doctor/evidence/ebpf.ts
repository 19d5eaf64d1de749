import { constants } from 'node:os'
import { BpfError } from '../../../dataplane/ebpf/bpf-error.ts'
import { ensureBpffs, findCgroup } from '../../../dataplane/ebpf/places.ts'
import type { PlaceFiles } from '../../../dataplane/ebpf/places.ts'
import type { FeatureAnswer } from '../../../dataplane/ebpf/probes.ts'
import { readObject } from '../../../dataplane/ebpf/read-object.ts'
import { SocketsError } from '../../../dataplane/sock-diag/sockets.ts'
import { ebpfObjectAdvice } from '../../../host/own-files.ts'
import type { Host } from '../../host/host.ts'
import { askForFeatures, missingFeature } from '../../modes/ebpf/features.ts'
import { neighbourObstacle } from '../../modes/ebpf/neighbour-obstacle.ts'
import type { Setup } from '../setup.ts'

export interface EbpfFacts {
  /** What keeps the mode from running, besides single features of the kernel: a place, or a program of somebody else. */
  readonly obstacle: string | undefined
  readonly answers: readonly FeatureAnswer[]
}

export async function readEbpf(host: Host, { ebpf }: Pick<Setup, 'ebpf'>, signal: AbortSignal): Promise<EbpfFacts> {
  try {
    const file = await host.readEbpfObject()
    if (file === undefined) return { obstacle: `the programs are missing: ${ebpfObjectAdvice}`, answers: [] }
    const files = withoutMounts(await host.openPlaceFiles())
    const { path: cgroup } = await findCgroup(files, ebpf.cgroup === '' ? undefined : ebpf.cgroup)
    await ensureBpffs(files, ebpf.pins)
    const [bpf, sockets] = [await host.openBpf(), await host.openSockets()]
    const answers = await askForFeatures({ bpf, cgroup, object: readObject(file), sockets, host }, signal)
    // Whoever may not ask for features may not ask for programs.
    if (missingFeature(answers) !== undefined) return { obstacle: undefined, answers }
    return { obstacle: await neighbourObstacle(bpf, { ...ebpf, cgroup }), answers }
  } catch (error) {
    if (!(error instanceof BpfError) && !(error instanceof SocketsError)) throw error
    return { obstacle: error.message, answers: [] }
  }
}

/** The proxy mounts its file system itself; who only looks does not. */
function withoutMounts(files: PlaceFiles): PlaceFiles {
  return { ...files, mount: async (type) => (type === 'bpf' ? 0 : constants.errno.EPERM) }
}
