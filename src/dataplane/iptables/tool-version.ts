/** Parses the output of `iptables --version`. */
import { IptablesError } from './iptables.ts'
import type { IptablesFeatures } from './iptables.ts'

/**
 * The first version whose iptables-restore can wait for the xtables lock, and whose MASQUERADE knows --random-fully.
 * It is from 2018. For older ones kube-proxy takes the lock itself; Fairlead does not support them.
 */
const oldestVersion = '1.6.2'

/** `iptables v1.8.9 (nf_tables)`. Before 1.8 there was only one variant, which is not printed. */
export function featuresFromVersion(program: string, output: string): IptablesFeatures {
  const version = /v(\d+(?:\.\d+)+)/.exec(output)?.[1]
  if (version === undefined)
    throw new IptablesError(
      'unsupported',
      `"${program} --version" printed no version but "${output.trim()}": is it really iptables?`,
    )
  if (isOlder(version, oldestVersion))
    throw new IptablesError(
      'unsupported',
      `${program} is version ${version}, which cannot wait for the xtables lock: install ${oldestVersion} or newer`,
    )
  return { version, variant: output.includes('(nf_tables)') ? 'nf_tables' : 'legacy', hasRandomFully: true }
}

function isOlder(version: string, than: string): boolean {
  const left = version.split('.').map(Number)
  const right = than.split('.').map(Number)
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0)
    if (difference !== 0) return difference < 0
  }
  return false
}
