/** Prefixes as nft prints them: one that holds a single address is that address. */

export function prefixText(cidr: string): string {
  const [ip = '', bits] = cidr.split('/')
  return Number(bits) === hostBits(ip) ? ip : cidr
}

export function hostCidr(ip: string): string {
  return `${ip}/${hostBits(ip)}`
}

function hostBits(ip: string): number {
  return ip.includes(':') ? 128 : 32
}
