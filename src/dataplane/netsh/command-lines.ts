/** What `netsh` is asked, as its arguments. A name with spaces is one of them. */
import { familyOf } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'

export function showAddresses(interfaceName: string, family: Family): readonly string[] {
  return family === 'ipv4'
    ? ['interface', 'ipv4', 'show', 'address', `name=${interfaceName}`]
    : ['interface', 'ipv6', 'show', 'address', `interface=${interfaceName}`]
}

/**
 * With a mask of its own no neighbours are looked for behind the interface; nothing is left after a restart of the machine;
 * and connections that the machine makes do not start from this address.
 */
export function addAddress(interfaceName: string, ip: string): readonly string[] {
  const options = ['store=active', 'skipassource=true']
  return familyOf(ip) === 'ipv4'
    ? [
        'interface',
        'ipv4',
        'add',
        'address',
        `name=${interfaceName}`,
        `address=${ip}`,
        'mask=255.255.255.255',
        ...options,
      ]
    : ['interface', 'ipv6', 'add', 'address', `interface=${interfaceName}`, `address=${ip}/128`, ...options]
}

export function deleteAddress(interfaceName: string, ip: string): readonly string[] {
  return familyOf(ip) === 'ipv4'
    ? ['interface', 'ipv4', 'delete', 'address', `name=${interfaceName}`, `address=${ip}`]
    : ['interface', 'ipv6', 'delete', 'address', `interface=${interfaceName}`, `address=${ip}`]
}
