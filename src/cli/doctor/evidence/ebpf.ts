import { BpfError } from '../../../dataplane/ebpf/bpf-error.ts'
import { lackedCapabilities } from '../../../dataplane/capabilities.ts'
import { imaginedMounts } from '../../../dataplane/ebpf/imagined-mounts.ts'
import { ensureBpffs, findCgroup } from '../../../dataplane/ebpf/places.ts'
import type { FeatureAnswer } from '../../../dataplane/ebpf/probes.ts'
import { readObject } from '../../../dataplane/ebpf/read-object.ts'
import { SocketsError } from '../../../dataplane/sock-diag/sockets.ts'
import { ebpfObjectAdvice } from '../../../host/own-files.ts'
import type { Host } from '../../host/host.ts'
import { askForFeatures, hasFeature } from '../../modes/ebpf/features.ts'
import { neighbourObstacles } from '../../modes/ebpf/neighbour-obstacles.ts'
import { scopeObstacle } from '../../modes/ebpf/socket-ways.ts'
import type { Setup } from '../setup.ts'

export interface EbpfFacts {
  /** What keeps the mode from running, besides single features of the kernel: places, flags, programs of somebody else. */
  readonly obstacles: readonly string[]
  readonly answers: readonly FeatureAnswer[]
}

export async function readEbpf(host: Host, { ebpf }: Pick<Setup, 'ebpf'>, signal: AbortSignal): Promise<EbpfFacts> {
  const file = await host.readEbpfObject()
  if (file === undefined) return { obstacles: [`the programs are missing: ${ebpfObjectAdvice}`], answers: [] }
  const obstacles = new Obstacles()
  const answers = await obstacles.goPast(async () => {
    // First, because what comes after it may fail as a whole.
    const cgroup = await lookAtPlaces(host, ebpf, obstacles)
    const [object, bpf, sockets] = [readObject(file), await host.openBpf(), await host.openSockets()]
    const found = await askForFeatures({ bpf, cgroup, object, sockets, host }, signal)
    // Where there are no hooks nobody is at them; whoever may not use hooks may not ask for programs.
    if (cgroup !== undefined && hasFeature(found, 'hooks'))
      await obstacles.goPast(async () => obstacles.tell(...(await neighbourObstacles(bpf, { ...ebpf, cgroup }))))
    obstacles.tell(
      scopeObstacle(ebpf, hasFeature(found, 'namespace-cookies') ? await sockets.ownNamespace() : undefined),
    )
    return found
  })
  return { obstacles: obstacles.told, answers: answers ?? [] }
}

/** The start ends at the first obstacle. Here all of them are told. */
class Obstacles {
  readonly told: string[] = []

  tell(...obstacles: readonly (string | undefined)[]): void {
    this.told.push(...obstacles.filter((obstacle) => obstacle !== undefined))
  }

  async goPast<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof BpfError) && !(error instanceof SocketsError)) throw error
      this.tell(error.message)
      return undefined
    }
  }
}

/** The cgroup that one can look into: none where the start has to mount it first. */
async function lookAtPlaces(
  host: Host,
  { cgroup: named, pins }: Setup['ebpf'],
  obstacles: Obstacles,
): Promise<string | undefined> {
  const files = imaginedMounts(await host.openPlaceFiles(), await mayMount(host))
  const cgroup = await obstacles.goPast(() => findCgroup(files, named === '' ? undefined : named))
  await obstacles.goPast(() => ensureBpffs(files, pins))
  return cgroup?.isMounted === true ? undefined : cgroup?.path
}

/** The proxy mounts what is missing if it has the right to. */
async function mayMount(host: Pick<Host, 'readTextFile'>): Promise<boolean> {
  const status = await host.readTextFile('/proc/self/status').catch(() => '')
  return lackedCapabilities(['CAP_SYS_ADMIN'], () => status).length === 0
}
