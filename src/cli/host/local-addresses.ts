/**
 * The addresses of this machine. Node's own list leaves out devices without a carrier, also those that are just coming
 * up; the kernel accepts traffic for their addresses all the same, and so must node ports.
 */
import { existsSync, readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { parseIp } from '../../net/ip.ts'

/**
 * Asks the kernel as soon as a socket for it is open, and reads its files until then, and where there is no such socket:
 * they tell addresses only together with all routes.
 */
export function localAddressReader(
  platform: NodeJS.Platform,
  open: () => Promise<() => readonly string[]>,
): () => readonly string[] {
  let ask: (() => readonly string[]) | undefined
  let isTried = platform !== 'linux'
  return () => {
    if (!isTried) {
      isTried = true
      open().then(
        (opened) => (ask = opened),
        () => {},
      )
    }
    try {
      if (ask !== undefined) return ask()
    } catch {
      ask = undefined
    }
    return localAddresses(platform)
  }
}

export function localAddresses(platform: NodeJS.Platform = process.platform): readonly string[] {
  // On Windows the path would be a folder of drive C, which every user may make.
  if (platform === 'win32') return nodesList()
  try {
    return [...parseFibTrie(read('/proc/net/fib_trie')), ...parseIfInet6(readIfThere('/proc/net/if_inet6'))]
  } catch {
    // Not Linux, or a /proc that does not tell.
    return nodesList()
  }
}

function nodesList(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) => addresses?.map(({ address }) => address) ?? [])
}

export function hasIpv6(platform: NodeJS.Platform): boolean {
  if (platform !== 'linux')
    return Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ family }) => family === 'IPv6'))
  return existsSync('/proc/net/if_inet6') && readIfThere('/proc/sys/net/ipv6/conf/all/disable_ipv6').trim() !== '1'
}

/** An address stands on a line of its own, and what it is on the next: `/32 host LOCAL`. */
export function parseFibTrie(text: string): readonly string[] {
  const found = text.matchAll(/\|-- (\d+\.\d+\.\d+\.\d+)\n\s+\/32 host LOCAL/g)
  return [...new Set([...found].map(([, address = '']) => address))]
}

/** One line for each address: 32 hex digits, then numbers and the device. */
export function parseIfInet6(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => {
    const digits = /^[0-9a-f]{32}(?= )/.exec(line)?.[0]
    return digits === undefined ? [] : (parseIp(digits.replace(/.{4}(?=.)/g, '$&:')) ?? [])
  })
}

function read(path: string): string {
  return readFileSync(path, 'utf8')
}

/** Empty for a file that is not there: a kernel without IPv6 has none about it. */
function readIfThere(path: string): string {
  try {
    return read(path)
  } catch {
    return ''
  }
}
