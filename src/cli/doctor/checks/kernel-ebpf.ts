import type { FeatureAnswer } from '../../../dataplane/ebpf/probes.ts'
import { whatIsNotAllowed } from '../../modes/ebpf/features.ts'
import { check } from '../check.ts'

export const kernelEbpf = check({
  name: 'kernel-ebpf',
  title: 'what the ebpf mode needs of the kernel and of the machine',
  needs: ['ebpf'],
  concerns: ({ config }) => config.mode === 'ebpf',
  finds: {
    'ebpf-unusable': {
      severity: 'error',
      meaning:
        'The ebpf mode cannot run: the cgroup of the node, a BPF file system, a right or a feature of the kernel is missing, or a program of somebody else is in the way.',
      fix: 'Follow the message (docs/ebpf.md), choose another mode with --proxy-mode, or allow --ebpf-fallback=nftables.',
    },
    'ebpf-feature-missing': {
      severity: 'warning',
      meaning: 'The kernel lacks something that the ebpf mode can do without: that part is left to nftables.',
      fix: 'Use a kernel that has it, if you need it (docs/ebpf.md).',
    },
    'ebpf-features': {
      severity: 'note',
      meaning: 'All that the ebpf mode asks the kernel for, with yes or no.',
      fix: 'Nothing: what matters of it is a finding of its own.',
    },
  },
  *run(_, { ebpf: { obstacles, answers } }, find) {
    if (obstacles.length > 0)
      yield find('ebpf-unusable', { what: 'The ebpf mode cannot run here.', evidence: obstacles.join('\n') })
    const forbidden = whatIsNotAllowed(answers)
    if (forbidden !== undefined)
      yield find('ebpf-unusable', { what: 'This process may not do what the ebpf mode needs.', evidence: forbidden })
    for (const { feature, answer, why } of answers) {
      if (answer !== 'no' && answer !== 'failed') continue
      const says = answer === 'no' ? 'The kernel lacks' : 'It could not be found out whether the kernel has'
      yield find(feature.isNeeded ? 'ebpf-unusable' : 'ebpf-feature-missing', {
        what: `${says} ${feature.title} (Linux ${feature.since}): ${feature.without}.`,
        evidence: why,
      })
    }
    const has = answers.filter(({ answer }) => answer === 'yes').length
    if (answers.length > 0)
      yield find('ebpf-features', {
        what: `The kernel has ${has} of the ${answers.length} things that the ebpf mode can use.`,
        evidence: answers.map(lineOf).join('\n'),
      })
  },
})

/** `yes          programs at getpeername (Linux 5.8)` */
function lineOf({ feature: { title, since }, answer }: FeatureAnswer): string {
  return `${answer.padEnd('not allowed'.length)}  ${title} (Linux ${since})`
}
