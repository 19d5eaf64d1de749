import { check } from '../check.ts'
import { forwardsInKernel } from '../setup.ts'

export const forwarding = check({
  name: 'forwarding',
  title: 'whether the kernel forwards packets',
  needs: ['settings'],
  concerns: forwardsInKernel,
  finds: {
    'ip-forward-off': {
      severity: 'error',
      meaning: 'The kernel forwards no IPv4 packets, so no client from outside and no pod reaches an endpoint.',
      fix: 'sysctl -w net.ipv4.ip_forward=1, and a line in /etc/sysctl.d to keep it.',
    },
    'ipv6-forward-off': {
      severity: 'error',
      meaning: 'The same for IPv6, on a node that has an IPv6 address.',
      fix: 'sysctl -w net.ipv6.conf.all.forwarding=1, and a line in /etc/sysctl.d to keep it.',
    },
    'rp-filter-strict': {
      severity: 'note',
      meaning: 'The kernel drops packets that arrive on another device than answers leave by. It matters with several.',
      fix: 'sysctl -w net.ipv4.conf.DEVICE.rp_filter=2 (loose), if packets vanish on a node with several devices.',
    },
  },
  *run({ config, families, isBeforeStart }, { settings }, find) {
    // The ipvs mode turns it on itself.
    const willBeOn = config.mode === 'ipvs' && isBeforeStart && !settings.isReadOnly
    if (settings.value('net/ipv4/ip_forward') === '0' && !willBeOn)
      yield find('ip-forward-off', {
        what: 'The kernel does not forward IPv4 packets.',
        evidence: 'net.ipv4.ip_forward = 0',
      })
    const isIpv6Off = settings.value('net/ipv6/conf/all/forwarding') === '0'
    // Before the start nobody knows whether the cluster has IPv6 at all; if so, its network plugin may come later and turn it on.
    if (families.includes('ipv6') && settings.hasGlobalIpv6 && isIpv6Off && !isBeforeStart)
      yield find('ipv6-forward-off', {
        what: 'The kernel does not forward IPv6 packets, and this node has an IPv6 address.',
        evidence: 'net.ipv6.conf.all.forwarding = 0',
      })
    // The kernel uses the larger of the two.
    const all = settings.number('net/ipv4/conf/all/rp_filter') ?? 0
    const strict = settings.interfaces.filter(
      (name) => Math.max(all, settings.number(`net/ipv4/conf/${name}/rp_filter`) ?? 0) === 1,
    )
    if (strict.length > 1)
      yield find('rp-filter-strict', {
        what: 'Reverse-path filtering is strict on several devices.',
        evidence: `rp_filter = 1 on ${strict.slice(0, 5).join(', ')}${strict.length > 5 ? ', …' : ''}`,
      })
  },
})
