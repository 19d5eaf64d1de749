/** Addresses with a special meaning, at which no Service may be reached. */

export type SpecialAddress =
  'unspecified' | 'loopback' | 'link-local' | 'link-local multicast' | 'multicast' | 'broadcast'

/** The address must be canonical. Ordinary addresses are none of these. */
export function specialAddress(ip: string): SpecialAddress | undefined {
  return ip.includes(':') ? specialV6(ip) : specialV4(ip)
}

/** For sentences. */
export function withArticle(special: SpecialAddress): string {
  return special === 'unspecified' ? `an ${special}` : `a ${special}`
}

function specialV4(ip: string): SpecialAddress | undefined {
  if (ip === '0.0.0.0') return 'unspecified'
  if (ip === '255.255.255.255') return 'broadcast'
  if (ip.startsWith('127.')) return 'loopback'
  if (ip.startsWith('169.254.')) return 'link-local'
  if (ip.startsWith('224.0.0.')) return 'link-local multicast'
  const first = Number.parseInt(ip, 10)
  return first >= 224 && first <= 239 ? 'multicast' : undefined
}

/** Canonical text has no leading zeros, so only a first group of four digits can begin with `fe8` or `ff`. */
function specialV6(ip: string): SpecialAddress | undefined {
  if (ip === '::') return 'unspecified'
  if (ip === '::1') return 'loopback'
  if (/^fe[89ab][0-9a-f]:/.test(ip)) return 'link-local'
  if (/^ff[0-9a-f]2:/.test(ip)) return 'link-local multicast'
  return /^ff[0-9a-f]{2}:/.test(ip) ? 'multicast' : undefined
}
