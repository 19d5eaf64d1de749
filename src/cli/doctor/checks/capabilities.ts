import { check } from '../check.ts'
import { usesRules } from '../setup.ts'
import type { Setup } from '../setup.ts'

/** From linux/capability.h. */
const bits = {
  CAP_NET_ADMIN: 12n,
  CAP_NET_RAW: 13n,
  CAP_NET_BIND_SERVICE: 10n,
  CAP_PERFMON: 38n,
  CAP_BPF: 39n,
} as const

type Capability = keyof typeof bits

export const capabilities = check({
  name: 'capabilities',
  title: 'the capabilities that the mode needs',
  needs: ['capabilities', 'daemon'],
  concerns: usesRules,
  finds: {
    'capability-missing': {
      severity: 'error',
      meaning:
        'This process lacks a capability that the mode needs (docs/security.md), so a proxy started like it fails.',
      fix: 'Run as root, or add the capability to the container (securityContext.capabilities.add).',
    },
  },
  *run(setup, { capabilities: effective, daemon }, find) {
    // One that runs has shown that it has what it needs. Who asks about it may be anybody.
    if (!setup.isBeforeStart && daemon.kind === 'runs') return
    const lacked = neededBy(setup).filter((name) => ((effective >> bits[name]) & 1n) === 0n)
    for (const name of lacked)
      yield find('capability-missing', {
        what: `The ${setup.config.mode} mode needs ${name}, which this process lacks.`,
        evidence: `CapEff: ${effective.toString(16).padStart(16, '0')}`,
      })
  },
})

/** The table of docs/security.md. Which variant of iptables is in use shows later; both work with CAP_NET_ADMIN at least. */
function neededBy({ config: { mode } }: Setup): readonly Capability[] {
  switch (mode) {
    case 'nftables':
    case 'iptables':
    case 'userspace':
      return ['CAP_NET_ADMIN']
    case 'ipvs':
      return ['CAP_NET_ADMIN', 'CAP_NET_RAW']
    case 'ebpf':
      return ['CAP_NET_ADMIN', 'CAP_BPF', 'CAP_PERFMON']
    case 'kernelspace':
      return []
    default:
      return mode satisfies never
  }
}
