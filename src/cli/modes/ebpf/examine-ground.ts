/** What the ebpf mode has to know of this machine. It is found out before a program is attached. */
import { createHash } from 'node:crypto'
import { digestSize } from '../../../backends/ebpf/layout.ts'
import type { EbpfOptions } from '../../../config/daemon/ebpf-flags.ts'
import { lackedCapabilities } from '../../../dataplane/capabilities.ts'
import type { Bpf } from '../../../dataplane/ebpf/bpf.ts'
import { ensureBpffs, findCgroup, hasPods } from '../../../dataplane/ebpf/places.ts'
import type { PlaceFiles } from '../../../dataplane/ebpf/places.ts'
import type { FeatureAnswer } from '../../../dataplane/ebpf/probes.ts'
import type { ProgramImage } from '../../../dataplane/ebpf/program-image.ts'
import { readObject } from '../../../dataplane/ebpf/read-object.ts'
import type { Sockets } from '../../../dataplane/sock-diag/sockets.ts'
import { ebpfObjectAdvice } from '../../../host/own-files.ts'
import type { Host } from '../../host/host.ts'
import { CommandError } from '../../program.ts'
import { askForFeatures, hasFeature, missingFeature, programsFor } from './features.ts'
import { neighbourObstacles } from './neighbour-obstacles.ts'
import { whyPodsAreOutOfReach } from './reach-of-pods.ts'
import { seesOwnConnections } from './self-test.ts'
import { scopeObstacle, socketWays } from './socket-ways.ts'
import type { MachineFeatures, SocketWays } from './socket-ways.ts'

export interface Ground extends SocketWays {
  readonly bpf: Bpf
  readonly sockets: Sockets
  readonly cgroup: string
  readonly programs: readonly ProgramImage[]
  /** Finds sockets whose endpoint is gone. */
  readonly iterator: ProgramImage | undefined
  /** Of the file that the programs come from. */
  readonly digest: Uint8Array
}

/** Rejects with what is in the way, and the way out: a CommandError, or a BpfError that says so. */
export async function examineGround(host: Host, options: EbpfOptions, signal: AbortSignal): Promise<Ground> {
  const file = await host.readEbpfObject()
  if (file === undefined) throw new CommandError(`the file with its programs is missing: ${ebpfObjectAdvice}`)
  const object = readObject(file)
  const [bpf, sockets] = [await host.openBpf(), await host.openSockets()]
  const files = await host.openPlaceFiles()
  const { path: cgroup } = await findCgroup(files, options.cgroup === '' ? undefined : options.cgroup)
  await ensureBpffs(files, options.pins)
  const answers = await askForFeatures({ bpf, cgroup, object, sockets, host }, signal)
  const features = await machineFeatures(answers, sockets, files)
  const obstacle =
    missingFeature(answers) ??
    (await neighbourObstacles(bpf, { ...options, cgroup }))[0] ??
    scopeObstacle(options, features.hostNetns)
  if (obstacle !== undefined) throw new CommandError(obstacle)
  const programs = programsFor(object, answers)
  const { settings, left } = socketWays(options, features)
  return {
    bpf,
    sockets,
    cgroup,
    programs,
    iterator: hasFeature(answers, 'iterator')
      ? object.programs.find(({ attachType }) => attachType === 'iterator')
      : undefined,
    digest: createHash('sha256').update(file).digest().subarray(0, digestSize),
    settings,
    left: [
      ...left,
      ...unseenConnections(options, cgroup, await seesOwnConnections({ bpf, cgroup, programs })),
      ...unseenPods(options, await hasPods(files, cgroup)),
    ],
  }
}

/** Where the cgroup was found, this was a condition, or it is the root, which has all. */
export function unseenPods({ cgroup: named }: Pick<EbpfOptions, 'cgroup'>, arePodsThere: boolean): readonly string[] {
  if (named === '' || arePodsThere) return []
  return ['what pods connect to is left to nftables: the kubelet has no folder for pods in --ebpf-cgroup']
}

/** Where the cgroup was found, this process is in it, as all are; where it was named, it may be outside on purpose. */
export function unseenConnections(
  { cgroup: named }: Pick<EbpfOptions, 'cgroup'>,
  cgroup: string,
  areSeen: boolean,
): readonly string[] {
  if (areSeen) return []
  if (named === '')
    throw new CommandError(
      `programs at ${cgroup} do not see what this process connects to, so it is not the cgroup of this node: mount the host's /sys/fs/cgroup into the container, or name the cgroup with --ebpf-cgroup`,
    )
  return [
    'what Fairlead itself connects to is left to nftables: it is not in --ebpf-cgroup, or programs do not work there',
  ]
}

async function machineFeatures(
  answers: readonly FeatureAnswer[],
  sockets: Sockets,
  files: PlaceFiles,
): Promise<MachineFeatures> {
  const has = (name: Parameters<typeof hasFeature>[1]) => hasFeature(answers, name)
  return {
    hostNetns: has('namespace-cookies') ? await sockets.ownNamespace() : undefined,
    refuses: has('refusals'),
    hasPeerNames: has('peer-names'),
    keepsKernelSockets: has('kernel-sockets'),
    ...(await whoseSocketsEnd(answers, sockets, files)),
  }
}

async function whoseSocketsEnd(
  answers: readonly FeatureAnswer[],
  sockets: Sockets,
  files: PlaceFiles,
): Promise<Pick<MachineFeatures, 'endsSocketsOf' | 'endsNoMoreBecause'>> {
  const missing = (['iterator', 'socket-destruction'] as const).find((name) => !hasFeature(answers, name))
  if (missing !== undefined) {
    const found = answers.find(({ feature }) => feature.name === missing)
    return { endsSocketsOf: 'nobody', endsNoMoreBecause: `no ${found?.feature.title ?? missing} (${found?.why ?? ''})` }
  }
  const [lacked] = lackedCapabilities(['CAP_SYS_ADMIN'])
  if (lacked !== undefined) return { endsSocketsOf: 'host', endsNoMoreBecause: `${lacked} is missing to enter them` }
  const why = await whyPodsAreOutOfReach(files, sockets)
  return why === undefined
    ? { endsSocketsOf: 'all', endsNoMoreBecause: '' }
    : { endsSocketsOf: 'host', endsNoMoreBecause: why }
}
