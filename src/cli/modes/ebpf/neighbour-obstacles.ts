/** Programs of others at the hooks of the ebpf mode: which of them keep it from running, and what to do about it. */
import { join } from 'node:path'
import { undefinedIf } from '../../../dataplane/ebpf/bpf-error.ts'
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
  const neighbours = await findNeighbours(bpf, place.cgroup, await ownProgramIds(bpf, place.pins))
  return neighbours.map((neighbour) => obstacleOf(neighbour, place)).filter((obstacle) => obstacle !== undefined)
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

/** Those that an earlier process of ours left, to be replaced. */
async function ownProgramIds(bpf: Bpf, pins: string): Promise<ReadonlySet<number>> {
  const ids = new Set<number>()
  for (const name of (await bpf.pinned(pins)).filter((path) => path.split('/').includes('links'))) {
    // What is no link makes way for one later.
    using link = await bpf.openLink(join(pins, name)).catch(undefinedIf('refused'))
    const state = link && (await bpf.linkState(link))
    if (state !== undefined) ids.add(state.programId)
  }
  return ids
}
