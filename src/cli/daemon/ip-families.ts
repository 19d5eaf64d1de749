/** Which IP families this machine can proxy. */
import { existsSync, readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import type { Family } from '../../net/ip.ts'

export function supportedFamilies(platform: NodeJS.Platform): readonly Family[] {
  return hasIpv6(platform) ? ['ipv4', 'ipv6'] : ['ipv4']
}

function hasIpv6(platform: NodeJS.Platform): boolean {
  if (platform !== 'linux')
    return Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ family }) => family === 'IPv6'))
  return existsSync('/proc/net/if_inet6') && readText('/proc/sys/net/ipv6/conf/all/disable_ipv6') !== '1'
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return ''
  }
}
