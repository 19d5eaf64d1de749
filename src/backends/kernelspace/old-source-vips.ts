import type { Logger } from '../../core/logger.ts'
import type { Hcn, HcnEndpoint } from '../../dataplane/hcn/hcn.ts'
import type { OwnedObjects } from '../../dataplane/owned-objects/owned-objects.ts'
import { refusalOf } from './committed.ts'
import { withEndpoints } from './endpoint-table.ts'
import type { Written } from './held.ts'
import { ownedNames, ownedSourceVip } from './owned-names.ts'

/** Deletes source VIPs that we made and nobody configures any more, and returns what is there then. */
export async function removeOldSourceVips(
  written: Written,
  { hcn, owned, log }: { readonly hcn: Hcn; readonly owned: OwnedObjects; readonly log: Logger },
  signal: AbortSignal,
): Promise<Written> {
  const removed: HcnEndpoint[] = []
  for (const endpoint of oldSourceVips(written, owned)) {
    const { id, ips } = endpoint
    try {
      await hcn.deleteEndpoint(id, signal)
      removed.push(endpoint)
    } catch (error) {
      log.warn('cannot delete a source VIP that is configured no more', { ips, id, error: refusalOf(error) })
    }
  }
  if (removed.length === 0) return written
  await owned.remove(removed.flatMap(({ ips }) => ips.map(ownedSourceVip)))
  return { ...written, table: withEndpoints(written.table, { added: [], removed }) }
}

/** None that a load balancer still forwards from, because HNS did not let it change. */
function oldSourceVips({ plan, table, held, left }: Written, owned: OwnedObjects): readonly HcnEndpoint[] {
  const { family, hostMac, sourceVip } = plan.settings
  const old = ownedNames(owned.list(), family).sourceVips.filter((ip) => ip !== sourceVip)
  if (old.length === 0) return []
  const inUse = new Set([...held.values(), ...left.balancers.values()].map(({ settings }) => settings.sourceVip))
  // A pod may have got the address since; ours has the MAC address of the host.
  const isOurs = ({ ips, isRemote, mac }: HcnEndpoint) =>
    !isRemote && ips.length === 1 && mac !== '' && canonicalMac(mac) === canonicalMac(hostMac)
  return old.filter((ip) => !inUse.has(ip)).flatMap((ip) => (table.byIp.get(ip) ?? []).filter(isOurs))
}

/** HNS writes it with hyphens. */
function canonicalMac(mac: string): string {
  return mac.toLowerCase().replaceAll(':', '-')
}
