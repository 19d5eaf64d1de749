import type { Logger } from '../../core/logger.ts'
import { ExecError } from '../exec/exec.ts'
import type { Exec } from '../exec/exec.ts'
import { NetlinkError } from '../netlink/netlink-error.ts'
import type { OpenNetlink } from '../netlink/open-netlink.ts'
import { commandIpvs } from './command-ipvs.ts'
import type { Ipvs } from './ipvs.ts'
import { netlinkIpvs } from './netlink-ipvs.ts'
import { procRealServerTable } from './real-server-table.ts'

export interface OpenIpvsOptions {
  readonly openNetlink: OpenNetlink
  readonly exec: Exec
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Loads IPVS where it is a module. Uses netlink where it works, else the `ipvsadm` command. */
export async function openIpvs({ openNetlink, exec, log, signal }: OpenIpvsOptions): Promise<Ipvs> {
  await loadModule(exec, log, signal)
  try {
    await using _works = await openNetlink('generic')
    return netlinkIpvs({ open: openNetlink, readRealServerTable: procRealServerTable })
  } catch (error) {
    if (!(error instanceof NetlinkError)) throw error
    log.info('netlink does not work here, using the ipvsadm command', { error })
    return commandIpvs(exec)
  }
}

/** A failure is only logged: IPVS may be loaded or built in already, and few containers have modprobe. */
async function loadModule(exec: Exec, log: Logger, signal: AbortSignal): Promise<void> {
  try {
    const { exitCode, stderr } = await exec('modprobe', ['-va', 'ip_vs'], { signal })
    if (exitCode !== 0) log.warn('modprobe cannot load ip_vs', { stderr: stderr.trim() })
  } catch (error) {
    if (!(error instanceof ExecError)) throw error
    log.warn('modprobe cannot load ip_vs', { error })
  }
}
