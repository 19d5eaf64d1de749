/** What the userspace mode leaves on a Windows node: addresses. Only those that are written down as ours count. */
import { nothingFound, removalOf } from '../../../core/leftover.ts'
import type { Findings, Removal } from '../../../core/leftover.ts'
import type { OwnedObjects } from '../../../dataplane/owned-objects/owned-objects.ts'
import { NetshError } from '../../../dataplane/netsh/netsh.ts'
import type { Netsh } from '../../../dataplane/netsh/netsh.ts'
import { families } from '../../../net/ip.ts'
import { everyOwnedAddress, ownedLine } from './owned-lines.ts'

const modes = ['userspace'] as const
const reason = 'written down in the state directory as added by Fairlead'

export interface WindowsDoors {
  readonly owned: OwnedObjects
  readonly openNetsh: (interfaceName: string) => Netsh
}

/** The interface may have been another one at an earlier time. */
export async function findLeftovers({ owned, openNetsh }: WindowsDoors, signal: AbortSignal): Promise<Findings> {
  const removals: Removal[] = []
  const interfaces = new Set(everyOwnedAddress(owned).map(({ interfaceName }) => interfaceName))
  for (const interfaceName of interfaces) {
    const netsh = openNetsh(interfaceName)
    for (const ip of await addressesOf(netsh, signal)) {
      const line = ownedLine(ip, interfaceName)
      if (!owned.has(line)) continue
      const what = `netsh: address ${ip} of the interface "${interfaceName}"`
      removals.push(
        removalOf({ what, reason, modes }, async (removing) => {
          await netsh.remove(ip, removing)
          await owned.remove([line])
        }),
      )
    }
  }
  return { ...nothingFound, removals }
}

/** Those of an interface that is gone are gone with it. */
async function addressesOf(netsh: Netsh, signal: AbortSignal): Promise<readonly string[]> {
  try {
    const lists = await Promise.all(families.map((family) => netsh.list(family, signal)))
    return lists.flat()
  } catch (error) {
    if (error instanceof NetshError && error.reason === 'no-such-interface') return []
    throw error
  }
}
