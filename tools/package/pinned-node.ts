/** The Node.js inside the executable: the newest of the long-term line that npm has for every architecture. */
import type { Architecture } from './architectures.ts'
import type { PinnedPackage } from './fetch-npm-package.ts'

export const nodeVersion = '24.21.0'

const integrities: Readonly<Record<Architecture['node'], string>> = {
  x64: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  arm64: 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
}

/** npm packages with the binaries of nodejs.org. */
export function pinnedNode(arch: Architecture['node']): PinnedPackage {
  return { name: `node-linux-${arch}`, version: nodeVersion, integrity: integrities[arch] }
}
