import { silentLogger as log } from '../../../core/logger.ts'
import { commandIpset } from '../../../dataplane/ipset/command-ipset.ts'
import { IpsetError } from '../../../dataplane/ipset/ipset.ts'
import { IpvsError } from '../../../dataplane/ipvs/ipvs.ts'
import { openIpvs } from '../../../dataplane/ipvs/open-ipvs.ts'
import type { Host } from '../../host/host.ts'
import { CannotLook } from '../evidence.ts'

export interface IpvsFacts {
  /** Why IPVS cannot be used. */
  readonly obstacle: string | undefined
  /** Why ipset cannot be used. */
  readonly ipsetObstacle: string | undefined
  /** Schedulers that are known to work: a virtual server uses them, or their module is loaded. */
  readonly schedulers: ReadonlySet<string>
}

const knownSchedulers = ['rr', 'wrr', 'lc', 'wlc', 'lblc', 'lblcr', 'dh', 'sh', 'mh', 'sed', 'nq', 'fo', 'ovf']

export async function readIpvs(
  { exec, openNetlink, moduleParameters }: Pick<Host, 'exec' | 'openNetlink' | 'moduleParameters'>,
  signal: AbortSignal,
): Promise<IpvsFacts> {
  const ipsetObstacle = await whyNoIpset(commandIpset(exec), signal)
  const schedulers = new Set<string>()
  for (const name of knownSchedulers)
    if ((await moduleParameters.read(`ip_vs_${name}/initstate`).catch(() => undefined)) !== undefined)
      schedulers.add(name)
  try {
    const ipvs = await openIpvs({ exec, openNetlink, log, signal })
    for (const { scheduler } of await ipvs.list(signal)) schedulers.add(scheduler)
    return { obstacle: undefined, ipsetObstacle, schedulers }
  } catch (error) {
    if (!(error instanceof IpvsError)) throw error
    if (error.reason === 'not-permitted')
      throw new CannotLook(error.message, 'Run as root, with CAP_NET_ADMIN.', { cause: error })
    return { obstacle: error.message, ipsetObstacle, schedulers }
  }
}

async function whyNoIpset(ipset: ReturnType<typeof commandIpset>, signal: AbortSignal): Promise<string | undefined> {
  try {
    await ipset.version(signal)
    return undefined
  } catch (error) {
    if (!(error instanceof IpsetError)) throw error
    return error.message
  }
}
