/** The real kube-proxy shows that the rows expect what it does. */
import { kubeProxyIptables } from './testing/kube-proxy.ts'
import { testFlows } from './testing/test-flows.ts'

testFlows(kubeProxyIptables('nft'), kubeProxyIptables('legacy'))
