import { programsNftables } from '../../../config/proxy-config.ts'
import { check } from '../check.ts'

export const kernelNftables = check({
  name: 'kernel-nftables',
  title: 'what the nftables table needs of the kernel and of nft',
  needs: ['nft'],
  concerns: ({ config }) => programsNftables(config.mode),
  finds: {
    'nft-unusable': {
      severity: 'error',
      meaning: 'nft is missing or too old, or the kernel is: the nftables mode cannot run.',
      fix: 'Install nft 1.0.1 or newer on Linux 5.13 or newer, or choose another mode with --proxy-mode.',
    },
    'kernel-feature-missing': {
      severity: 'error',
      meaning: 'The kernel lacks an expression of nf_tables that the mode uses.',
      fix: 'Load the modules (modprobe), or use a kernel that has them.',
    },
  },
  *run(_, { nft: { obstacle, missing } }, find) {
    if (obstacle !== undefined)
      yield find('nft-unusable', { what: 'The nftables mode cannot run here.', evidence: obstacle })
    for (const { family, feature, modules, reason } of missing)
      yield find('kernel-feature-missing', {
        what: `The kernel lacks ${feature} for ${family}.`,
        evidence: reason,
        fix: `Load the kernel modules of it: ${modules}; e.g. modprobe -a ${modules.split(', ').join(' ')}.`,
      })
  },
})
