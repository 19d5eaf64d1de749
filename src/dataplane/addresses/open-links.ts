import type { Exec } from '../exec/exec.ts'
import { NetlinkError } from '../netlink/netlink-error.ts'
import type { OpenNetlink } from '../netlink/open-netlink.ts'
import type { Links } from './addresses.ts'
import { commandLinks } from './command-links.ts'
import { netlinkAddresses } from './netlink-addresses.ts'

export interface OpenLinksOptions {
  readonly openNetlink: OpenNetlink
  readonly exec: Exec
}

/** Uses netlink where it works, else the `ip` command. */
export async function openLinks({ openNetlink, exec }: OpenLinksOptions): Promise<Links> {
  try {
    await using _works = await openNetlink('route')
    return netlinkAddresses({ open: openNetlink })
  } catch (error) {
    if (!(error instanceof NetlinkError)) throw error
    return commandLinks(exec)
  }
}
