import { kubeProxyProblem } from '../packet/testing/kube-proxy.ts'
import { relayGuestTests } from './testing/relay-guest-tests.ts'

const isWanted = process.env['KUBE_PROXY_IN_GUEST'] !== undefined
await relayGuestTests({
  name: 'kube-proxy and Fairlead, from ipvs and to it',
  files: ['takeover.guest.ts'],
  timeoutMs: 1_800_000,
  problem: isWanted ? kubeProxyProblem() : 'it takes many minutes; set KUBE_PROXY_IN_GUEST',
})
