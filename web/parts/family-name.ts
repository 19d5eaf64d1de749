export function familyName(family: string): string {
  return family === 'ipv4' ? 'IPv4' : family === 'ipv6' ? 'IPv6' : family
}
