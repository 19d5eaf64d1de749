/** The network is gone, or another one has its name: nothing that we made for the old one can work. */
import type { Logger } from '../../core/logger.ts'
import { HcnError } from '../../dataplane/hcn/hcn.ts'
import type { Hcn, HcnNetwork } from '../../dataplane/hcn/hcn.ts'
import type { OwnedObjects } from '../../dataplane/owned-objects/owned-objects.ts'
import { familyOf } from '../../net/ip.ts'
import { refusalOf } from './committed.ts'
import type { Readers } from './committed.ts'
import { heldAsFound } from './held-as-found.ts'
import type { HeldBalancer, Written } from './held.ts'
import { ownedBalancer, ownedEndpoint } from './owned-names.ts'
import type { KernelspaceSettings } from './settings.ts'

export interface Site {
  readonly hcn: Hcn
  readonly owned: OwnedObjects
  readonly readers: Pick<Readers, 'balancers'>
  readonly settings: KernelspaceSettings
  readonly log: Logger
}

/** Returns the error of the sync, which has not programmed anything; the next one starts anew. */
export async function tearDown(
  site: Site,
  before: Written | undefined,
  found: HcnNetwork | undefined,
  signal: AbortSignal,
): Promise<HcnError> {
  const { hcn, owned, settings, log } = site
  const disowned: string[] = []
  const remove = async (name: string, work: Promise<unknown>) => {
    try {
      await work
      disowned.push(name)
    } catch (error) {
      log.warn('cannot delete what was made for a network that is gone', { name, error: refusalOf(error) })
    }
  }
  for (const { id, frontend } of before === undefined ? await ownedBalancers(site, signal) : heldBy(before))
    await remove(ownedBalancer(frontend), hcn.deleteLoadBalancer(id, signal))
  for (const { id, isRemote, ips } of before?.table.byId.values() ?? [])
    for (const ip of ips.slice(0, 1))
      if (isRemote && familyOf(ip) === settings.family && owned.has(ownedEndpoint(ip)))
        await remove(ownedEndpoint(ip), hcn.deleteEndpoint(id, signal))
  if (disowned.length > 0) await owned.remove(disowned)
  const { name } = settings.network
  return new HcnError(
    'not-found',
    found === undefined
      ? `there is no HNS network "${name}": its load balancers were deleted, and come back with the network`
      : `the HNS network "${name}" was replaced: the load balancers of the old one were deleted`,
  )
}

async function ownedBalancers(
  { readers, owned, settings }: Site,
  signal: AbortSignal,
): Promise<readonly HeldBalancer[]> {
  const ours = { family: settings.family, owned, isClaimed: () => false, left: new Map() }
  const { held, left } = heldAsFound(await readers.balancers.readAll(signal), ours)
  return [...held.values(), ...left.values()]
}

function heldBy({ held, left }: Written): readonly HeldBalancer[] {
  return [...held.values(), ...left.balancers.values()]
}
