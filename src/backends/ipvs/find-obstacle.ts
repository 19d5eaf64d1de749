/** Finds out, by trying, whether this machine can do what the mode needs. */
import type { Ipset } from '../../dataplane/ipset/ipset.ts'
import type { Ipvs, VirtualServer } from '../../dataplane/ipvs/ipvs.ts'

export interface Needs {
  readonly ipvs: Pick<Ipvs, 'list' | 'apply'>
  readonly ipset: Pick<Ipset, 'version'>
  readonly scheduler: string
}

/** Older ones know not all the types of sets. */
const leastIpset = { major: 6, text: '6.0' }

/** Nobody has this address: it is set aside for documentation. */
const probeAddress = { ip: '198.51.100.0', port: 20_000, protocol: 'TCP' } as const

/** What is in the way, and what to do about it; undefined when nothing is. */
export async function findObstacle(needs: Needs, signal: AbortSignal): Promise<string | undefined> {
  try {
    return (await findIpsetObstacle(needs, signal)) ?? (await findIpvsObstacle(needs, signal))
  } catch (error) {
    if (signal.aborted || !(error instanceof Error)) throw error
    return error.message
  }
}

async function findIpsetObstacle({ ipset }: Needs, signal: AbortSignal): Promise<string | undefined> {
  const version = await ipset.version(signal)
  if (version === undefined) return undefined
  const major = Number(/^v?(\d+)\./.exec(version)?.[1] ?? 0)
  return major < leastIpset.major
    ? `ipset version: ${version} is less than min required version: ${leastIpset.text}; install a newer ipset`
    : undefined
}

/** The kernel loads the module of a scheduler when the first virtual server asks for it, so one must ask. */
async function findIpvsObstacle({ ipvs, scheduler }: Needs, signal: AbortSignal): Promise<string | undefined> {
  const servers = await ipvs.list(signal)
  // The usual case after a restart: the scheduler is there and in use.
  if (servers.some((server) => server.scheduler === scheduler)) return undefined
  const probe: VirtualServer = { ...probeAddress, scheduler, flags: 0, timeoutSeconds: 0 }
  const refused = await tryProbe(ipvs, probe, signal)
  if (refused !== undefined) return refused
  const isThere = (await ipvs.list(signal)).length > 0
  const [stuck] = (await ipvs.apply([{ kind: 'delete-server', server: probeAddress }], signal)).values()
  if (!isThere) return 'ipvs not supported: the kernel accepted a virtual server but does not list it'
  return stuck?.message
}

async function tryProbe(ipvs: Needs['ipvs'], probe: VirtualServer, signal: AbortSignal): Promise<string | undefined> {
  const [refused] = (await ipvs.apply([{ kind: 'add-server', server: probe }], signal)).values()
  if (refused?.reason !== 'exists') return refused?.message
  // Left by a start that was interrupted here.
  const [refusedAgain] = (await ipvs.apply([{ kind: 'edit-server', server: probe }], signal)).values()
  return refusedAgain?.message
}
