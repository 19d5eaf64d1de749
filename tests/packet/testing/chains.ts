/** Reads what iptables-save prints. */
import { families } from './iptables-variant.ts'
import type { IptablesVariant } from './iptables-variant.ts'
import type { Namespace } from './namespace.ts'

/** Chains of Services that no rule leads to: what a proxy forgot to remove. */
export function orphanedChains(node: Namespace, variant: IptablesVariant): readonly string[] {
  return families.flatMap((family) => {
    const saved = node.run(`${family}-${variant}-save`, ['-t', 'nat'])
    const chains = [...saved.matchAll(/^:(KUBE-(?:SVC|SVL|EXT|FW|SEP)-\S+) /gm)].map(([, chain = '']) => chain)
    return chains.filter((chain) => !saved.includes(`-j ${chain}\n`))
  })
}
