import { check } from '../check.ts'
import { usesIptables } from '../setup.ts'

export const kernelIptables = check({
  name: 'kernel-iptables',
  title: 'what the mode needs of iptables and of its kernel modules',
  needs: ['iptables'],
  concerns: usesIptables,
  finds: {
    'iptables-unusable': {
      severity: 'error',
      meaning: 'iptables is missing or too old, or the kernel lacks its tables.',
      fix: 'Install iptables 1.6.2 or newer, and load ip_tables or nf_tables.',
    },
    'iptables-extension-missing': {
      severity: 'error',
      meaning: 'A match or target that the rules use is missing.',
      fix: 'Install all of iptables, and load the kernel module of the extension (xt_NAME).',
    },
    'client-address-lost': {
      severity: 'warning',
      meaning: 'The kernel cannot match packets by their socket: in userspace mode pods see the node, not the client.',
      fix: 'modprobe xt_socket. If pods need not see clients: --userspace-client-address=node.',
    },
    'nfacct-missing': {
      severity: 'note',
      meaning: 'The kernel has no accounting objects: two metrics of the iptables mode stay at 0.',
      fix: 'modprobe nfnetlink_acct xt_nfacct, if you need the metrics.',
    },
  },
  *run({ config, clientAddress }, { iptables: { obstacles, missing, missingForClients, hasNfacct } }, find) {
    for (const { family, reason } of obstacles)
      yield find('iptables-unusable', { what: `iptables cannot be used for ${family}.`, evidence: reason })
    for (const { tool, extension, reason } of missing)
      yield find('iptables-extension-missing', {
        what: `${tool} cannot use the extension ${extension}.`,
        evidence: reason,
        fix: `Load its kernel module: modprobe xt_${extension}.`,
      })
    if (clientAddress === 'auto')
      for (const { tool, reason } of missingForClients)
        yield find('client-address-lost', { what: `${tool} cannot use the match "socket".`, evidence: reason })
    if (config.mode === 'iptables' && obstacles.length === 0 && !hasNfacct)
      yield find('nfacct-missing', {
        what: 'Dropped invalid packets and localhost node ports are not counted.',
        evidence: 'the kernel does not answer over nfnetlink_acct',
      })
  },
})
