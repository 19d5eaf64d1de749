import type { Proxy } from './proxy.ts'
import { fairleadChart } from './fairlead-chart.ts'
import { kubeProxy } from './kube-proxy.ts'

export const proxies: readonly Proxy[] = [
  kubeProxy('iptables'),
  kubeProxy('nftables'),
  fairleadChart('nftables'),
  fairleadChart('ebpf'),
  fairleadChart('iptables'),
  fairleadChart('userspace'),
]
