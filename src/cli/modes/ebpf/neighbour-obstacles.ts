/** Programs of others at the hooks of the ebpf mode: which of them keep it from running, and what to do about it. */
import { basename, join } from 'node:path'
import { isPinOfLink, pinsOfLayouts } from '../../../backends/ebpf/layout-folders.ts'
import { layoutVersion } from '../../../backends/ebpf/layout.ts'
import { oneDoesWithout } from '../../../backends/ebpf/other-layouts.ts'
import { undefinedIf } from '../../../dataplane/ebpf/bpf-error.ts'
import type { BpfReason } from '../../../dataplane/ebpf/bpf-error.ts'
import type { Bpf } from '../../../dataplane/ebpf/bpf.ts'
import { findNeighbours, neighbourText } from '../../../dataplane/ebpf/neighbours.ts'
import type { Neighbour } from '../../../dataplane/ebpf/neighbours.ts'

export interface HookPlace {
  readonly cgroup: string
  readonly pins: string
  /** The operator says that another balancer may run. */
  readonly besideOthers: boolean
}

/** Empty: nobody at the same hooks is in the way. */
export async function neighbourObstacles(bpf: Bpf, place: HookPlace): Promise<readonly string[]> {
  const { programIds, unknownHooks } = await ownLinks(bpf, place.pins)
  const isOurs = ({ kind, attachType }: Neighbour) => kind === 'fairlead' && unknownHooks.has(attachType)
  const strangers = (await findNeighbours(bpf, place.cgroup, programIds)).filter((neighbour) => !isOurs(neighbour))
  return strangers.map((neighbour) => obstacleOf(neighbour, place)).filter((obstacle) => obstacle !== undefined)
}

function obstacleOf(neighbour: Neighbour, { cgroup, pins, besideOthers }: HookPlace): string | undefined {
  const who = `${neighbourText(neighbour)} of ${cgroup}`
  switch (neighbour.kind) {
    case 'alone':
      return `${who} leaves no room for other programs: detach it, or choose another mode`
    case 'fairlead':
      return `${who} is not pinned in ${pins}, so it belongs to another Fairlead: stop that one, or give its --ebpf-pins`
    case 'balancer':
      return besideOthers
        ? undefined
        : `${who} balances at the same sockets: switch that off there, or add --ebpf-beside-others`
    case 'other':
      return undefined
    default:
      return neighbour.kind satisfies never
  }
}

interface OwnLinks {
  /** What an earlier process of ours left, to be replaced. */
  readonly programIds: ReadonlySet<number>
  /** A link to them is pinned, or was, and does not say which program it has: what Fairlead has there may be that one. */
  readonly unknownHooks: ReadonlySet<string>
}

async function ownLinks(bpf: Bpf, pins: string): Promise<OwnLinks> {
  const programIds = new Set<number>()
  const unknownHooks = new Set<string>()
  for (const name of (await pinsOfLayouts(bpf, pins)).filter(isPinOfLink)) {
    using link = await bpf.openLink(join(pins, name)).catch(undefinedIf(...reasonsToDoWithout(name)))
    const state = link && (await bpf.linkState(link))
    if (state !== undefined) programIds.add(state.programId)
    else if (link === undefined) unknownHooks.add(basename(name))
  }
  return { programIds, unknownHooks }
}

/** What is no link makes way for one later, and so does whatever another version has pinned. */
function reasonsToDoWithout(name: string): readonly BpfReason[] {
  return name.startsWith(`${layoutVersion}/`) ? ['refused'] : [...oneDoesWithout]
}
