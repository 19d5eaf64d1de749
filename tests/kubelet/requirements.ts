/** What must be installed, by the Debian package that has it. */
import { existsSync } from 'node:fs'
import { findProgram } from './images/root-folder.ts'

const packagesByProgram = {
  runc: 'runc',
  '/usr/lib/cni/ptp': 'containernetworking-plugins',
  busybox: 'busybox-static',
  dig: 'bind9-dnsutils',
  nc: 'netcat-openbsd',
  curl: 'curl',
  wget: 'wget',
  conntrack: 'conntrack',
  kubectl: 'kubernetes-client',
  openssl: 'openssl',
  cc: 'gcc',
  ip: 'iproute2',
  unshare: 'util-linux',
  pgrep: 'procps',
  'iptables-nft': 'iptables',
  nft: 'nftables',
}

/** Why there can be no cluster here, or undefined when there can. */
export async function missingForCluster(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'the cluster needs Linux'
  if (process.getuid?.() !== 0) return 'the cluster needs root, for its namespaces'
  const missing: string[] = []
  for (const [program, debianPackage] of Object.entries(packagesByProgram)) {
    const isThere = program.startsWith('/')
      ? existsSync(program)
      : await findProgram(program).then(
          () => true,
          () => false,
        )
    if (!isThere) missing.push(debianPackage)
  }
  return missing.length === 0 ? undefined : `the cluster needs more programs: apt-get install ${missing.join(' ')}`
}
