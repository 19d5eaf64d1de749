/** What every package says about itself. */
export const packageFacts = {
  summary: 'service proxy of a Kubernetes node, a drop-in for kube-proxy',
  description: [
    'Fairlead watches Services and EndpointSlices and makes every Service address',
    'reach a healthy endpoint, by nftables, iptables, IPVS or sockets of its own.',
    'It has the flags, the configuration file, and the health and metrics endpoints',
    'of kube-proxy, and says why it does what it does.',
  ],
  homepage: 'https://github.com/fairlead/fairlead',
  maintainer: 'The Fairlead authors <fairlead@users.noreply.github.com>',
  /** What an operator may have changed: kept by upgrades, and by a removal. */
  configuration: ['/etc/default/fairlead', '/etc/fairlead/config.yaml'],
} as const
