import { check } from '../check.ts'
import { usesIptables } from '../setup.ts'

export const capabilitiesLegacy = check({
  name: 'capabilities-legacy',
  title: 'the capability that iptables-legacy needs besides',
  needs: ['capabilities', 'iptables', 'daemon'],
  concerns: (setup) => usesIptables(setup) && setup.config.mode !== 'ipvs',
  finds: {
    'capability-missing-for-legacy': {
      severity: 'error',
      meaning: 'This node uses iptables-legacy, which needs CAP_NET_RAW besides CAP_NET_ADMIN.',
      fix: 'Add CAP_NET_RAW to the container, or use iptables-nft on the node.',
    },
  },
  *run(setup, { capabilities: effective, iptables: { variant }, daemon }, find) {
    if (!setup.isBeforeStart && daemon.kind === 'runs') return
    const netRaw = 13n
    if (variant !== 'legacy' || ((effective >> netRaw) & 1n) === 1n) return
    yield find('capability-missing-for-legacy', {
      what: 'iptables-legacy needs CAP_NET_RAW, which this process lacks.',
      evidence: `CapEff: ${effective.toString(16).padStart(16, '0')}, iptables variant legacy`,
    })
  },
})
