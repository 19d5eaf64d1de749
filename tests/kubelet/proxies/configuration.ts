import { podCidrs } from '../cluster/addresses.ts'

/** Fields of a KubeProxyConfiguration, the same for all. */
export const sameConfiguration = {
  clusterCIDR: podCidrs.join(','),
  detectLocalMode: 'ClusterCIDR',
  // The size of the table is one for the whole machine, and may not be set from here.
  conntrack: { maxPerCore: 0, min: 0 },
  // Lowering it needs CAP_SYS_RESOURCE, which root does not have everywhere.
  oomScoreAdj: 0,
}
