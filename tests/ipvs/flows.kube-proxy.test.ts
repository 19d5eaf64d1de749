/** Shows that the rows expect of this mode what kube-proxy does. Run it after you change a row. */
import { relayGuestTests } from './testing/relay-guest-tests.ts'

const isWanted = process.env['KUBE_PROXY_IN_GUEST'] !== undefined
await relayGuestTests({
  name: 'packets through IPVS as kube-proxy programs it',
  files: ['flows.kube-proxy.guest.ts'],
  timeoutMs: 3_600_000,
  problem: isWanted ? undefined : 'it takes many minutes; set KUBE_PROXY_IN_GUEST',
})
