/** Which capabilities this process has, so that a message can name the one that is missing. */
import { readFileSync } from 'node:fs'

/** From linux/capability.h. */
const bits = {
  CAP_NET_BIND_SERVICE: 10n,
  CAP_NET_ADMIN: 12n,
  CAP_NET_RAW: 13n,
  CAP_SYS_PTRACE: 19n,
  CAP_SYS_ADMIN: 21n,
}

export type Capability = keyof typeof bits

/** Empty where /proc cannot be read: a message must not name a capability that may not be missing. */
export function lackedCapabilities(
  wanted: readonly Capability[],
  readStatus: () => string = () => readFileSync('/proc/self/status', 'utf8'),
): readonly Capability[] {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(statusOr(readStatus))?.[1]
  if (effective === undefined) return []
  return wanted.filter((name) => ((BigInt(`0x${effective}`) >> bits[name]) & 1n) === 0n)
}

function statusOr(readStatus: () => string): string {
  try {
    return readStatus()
  } catch {
    return ''
  }
}
