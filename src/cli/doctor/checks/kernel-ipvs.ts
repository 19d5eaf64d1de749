import { check } from '../check.ts'

export const kernelIpvs = check({
  name: 'kernel-ipvs',
  title: 'what the ipvs mode needs of the kernel and of ipset',
  needs: ['ipvs'],
  concerns: ({ config }) => config.mode === 'ipvs',
  finds: {
    'ipvs-unusable': {
      severity: 'error',
      meaning: 'The kernel has no IPVS.',
      fix: 'modprobe -a ip_vs ip_vs_rr, or choose another mode with --proxy-mode.',
    },
    'ipset-unusable': {
      severity: 'error',
      meaning: 'ipset is missing, or the kernel has no ip_set.',
      fix: 'Install ipset and modprobe ip_set.',
    },
    'ipvs-scheduler-unproven': {
      severity: 'note',
      meaning: 'The scheduler is not loaded; whether the kernel has it shows when the first Service asks for it.',
      fix: 'modprobe ip_vs_NAME.',
    },
  },
  *run({ config }, { ipvs: { obstacle, ipsetObstacle, schedulers } }, find) {
    if (obstacle !== undefined) yield find('ipvs-unusable', { what: 'The kernel has no IPVS.', evidence: obstacle })
    if (ipsetObstacle !== undefined)
      yield find('ipset-unusable', { what: 'ipset cannot be used.', evidence: ipsetObstacle })
    const scheduler = config.ipvs.scheduler || 'rr'
    if (obstacle === undefined && !schedulers.has(scheduler))
      yield find('ipvs-scheduler-unproven', {
        what: `The scheduler ${scheduler} is not loaded yet.`,
        evidence: `neither a virtual server nor /sys/module/ip_vs_${scheduler} shows it`,
        fix: `modprobe ip_vs_${scheduler}.`,
      })
  },
})
