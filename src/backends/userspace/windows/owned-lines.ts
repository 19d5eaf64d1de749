/** How an address that Fairlead gave an interface is written down. */
import type { OwnedObjects } from '../../../dataplane/owned-objects/owned-objects.ts'

const pattern = /^address (\S+) on (.+)$/

export function ownedLine(ip: string, interfaceName: string): string {
  return `address ${ip} on ${interfaceName}`
}

/** Of this interface. */
export function ownedAddresses(owned: Pick<OwnedObjects, 'list'>, interfaceName: string): readonly string[] {
  return everyOwnedAddress(owned).flatMap((each) => (each.interfaceName === interfaceName ? [each.ip] : []))
}

export function everyOwnedAddress(
  owned: Pick<OwnedObjects, 'list'>,
): readonly { readonly ip: string; readonly interfaceName: string }[] {
  return owned.list().flatMap((line) => {
    const [, ip, interfaceName] = pattern.exec(line) ?? []
    return ip === undefined || interfaceName === undefined ? [] : [{ ip, interfaceName }]
  })
}
