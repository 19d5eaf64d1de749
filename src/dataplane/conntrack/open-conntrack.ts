import type { Logger } from '../../core/logger.ts'
import type { Exec } from '../exec/exec.ts'
import { NetlinkError } from '../netlink/netlink-error.ts'
import type { OpenNetlink } from '../netlink/open-netlink.ts'
import { commandConntrack } from './command-conntrack.ts'
import type { Conntrack } from './conntrack.ts'
import { netlinkConntrack } from './netlink-conntrack.ts'

export interface OpenConntrackOptions {
  readonly openNetlink: OpenNetlink
  readonly exec: Exec
  readonly log: Logger
}

/** Uses netlink where it works, else the `conntrack` command. */
export async function openConntrack({ openNetlink, exec, log }: OpenConntrackOptions): Promise<Conntrack> {
  try {
    await using _works = await openNetlink('netfilter')
    return netlinkConntrack({ open: openNetlink, log })
  } catch (error) {
    if (!(error instanceof NetlinkError)) throw error
    log.info('netlink does not work here, using the conntrack command', { error })
    return commandConntrack(exec)
  }
}
