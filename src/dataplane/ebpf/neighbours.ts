/** Programs of others at the same hooks of a cgroup: which can stay, and which make it pointless or impossible to attach ours. */
import { attachTypes } from './bpf.ts'
import type { AttachedProgram, AttachType, Bpf } from './bpf.ts'

export interface Neighbour {
  readonly attachType: AttachType
  readonly program: AttachedProgram
  /**
   * `alone`: it leaves no room for others. `balancer`: it exchanges addresses of Services, too. `fairlead`: one of ours that
   * somebody else holds. `other`: it runs before or after ours, which is fine.
   */
  readonly kind: 'alone' | 'balancer' | 'fairlead' | 'other'
  /** Whose it is, as far as its name tells: `Cilium`. */
  readonly owner: string | undefined
}

/** `ownIds` are the programs of this process, and of the links that it has taken over. */
export async function findNeighbours(
  bpf: Bpf,
  cgroup: string,
  ownIds: ReadonlySet<number> = new Set(),
): Promise<readonly Neighbour[]> {
  const found: Neighbour[] = []
  for (const attachType of attachTypes)
    for (const program of await bpf.attached(cgroup, attachType))
      if (!ownIds.has(program.id)) found.push(neighbourOf(attachType, program))
  return found
}

function neighbourOf(attachType: AttachType, program: AttachedProgram): Neighbour {
  const known = balancers.find(({ names }) => names.test(program.name ?? ''))
  const owner = known?.owner
  const kind = program.sharing !== 'shared' ? 'alone' : (known?.kind ?? 'other')
  return { attachType, program, kind, owner }
}

/** The kernel keeps 15 characters of a name. systemd's programs are at other hooks. */
const balancers: readonly { readonly names: RegExp; readonly owner: string; readonly kind: Neighbour['kind'] }[] = [
  { names: /^fl_/, owner: 'Fairlead', kind: 'fairlead' },
  { names: /^cil_sock/, owner: 'Cilium', kind: 'balancer' },
  { names: /^calico_/, owner: 'Calico', kind: 'balancer' },
  { names: /^sock[46]_connect/, owner: 'KPNG', kind: 'balancer' },
]

/** `"cil_sock4_conne" of Cilium at connect4`. */
export function neighbourText({ attachType, program: { id, name }, owner }: Neighbour): string {
  const what = name === undefined ? `program ${id} (its name needs CAP_SYS_ADMIN)` : `"${name}"`
  return `${what}${owner === undefined ? '' : ` of ${owner}`} at ${attachType}`
}
