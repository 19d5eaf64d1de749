import { cidrContains, parseCidr } from '../../../net/ip.ts'
import { check } from '../check.ts'
import { forwardsInKernel } from '../setup.ts'

/** Two pods on one bridge: the answer would take the short way, past the rule that translates it back. */
export const bridgeNetfilter = check({
  name: 'bridge-netfilter',
  title: 'whether packets between pods on a bridge pass the rules',
  needs: ['settings', 'bridges'],
  concerns: forwardsInKernel,
  finds: {
    'bridge-nf-call-off': {
      severity: 'warning',
      meaning: 'Pods on one bridge cannot reach each other through a Service: answers bypass the rules.',
      fix: 'modprobe br_netfilter; sysctl -w net.bridge.bridge-nf-call-iptables=1 net.bridge.bridge-nf-call-ip6tables=1.',
    },
  },
  *run({ config }, { settings, bridges: { bridges } }, find) {
    const podCidrs = config.detectLocal.clusterCidrs.flatMap((text) => parseCidr(text) ?? [])
    const withPods = bridges.filter(
      ({ name, addresses }) =>
        name === config.detectLocal.bridgeInterface ||
        /^(?:cni|cbr)\d+$/.test(name) ||
        addresses.some((ip) => podCidrs.some((cidr) => cidrContains(cidr, ip))),
    )
    const [bridge] = withPods
    if (bridge === undefined) return
    const value = settings.value('net/bridge/bridge-nf-call-iptables')
    if (value === '1') return
    const seen = value === undefined ? 'br_netfilter is not loaded' : `net.bridge.bridge-nf-call-iptables = ${value}`
    yield find('bridge-nf-call-off', {
      what: `Packets between pods on the bridge ${bridge.name} do not pass the rules.`,
      evidence: `bridge ${bridge.name} with ${bridge.addresses.join(', ') || 'no address'}; ${seen}`,
    })
  },
})
