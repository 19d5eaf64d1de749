/** The real kube-proxy shows that the rows expect what it does in its nftables mode. */
import { kubeProxyNftables } from './testing/kube-proxy.ts'
import { testFlows } from './testing/test-flows.ts'

testFlows(kubeProxyNftables)
