/** The answer for every option that kube-proxy 1.36 has: what becomes of it in Fairlead. A test goes over all of them. */
import type { ProxyMode } from '../../config/proxy-config.ts'
import type { Attention, Facts } from './difference.ts'

interface Answer {
  readonly attention: Attention
  readonly kubeProxy: string
  readonly fairlead: string
  readonly action: string
  readonly rollback: string
}

export type AnswerFor = (value: unknown, facts: Facts) => Answer

export const readAgain = 'Nothing to undo: kube-proxy reads it again.'

const meansTheSame: Answer = { attention: 'same', kubeProxy: '', fairlead: '', action: '', rollback: readAgain }
const same: AnswerFor = () => meansTheSame

function differs(kubeProxy: string, fairlead: string, action = ''): Answer {
  return { attention: 'differs', kubeProxy, fairlead, action, rollback: readAgain }
}

const always =
  (answer: Answer): AnswerFor =>
  () =>
    answer

interface OfModes {
  /** Where it has an effect, in both. */
  readonly modes: readonly ProxyMode[]
  readonly did: string
  /** What to do where the new mode does not know it. */
  readonly instead: string
  readonly attention?: Exclude<Attention, 'same'>
}

/** An option of some modes only: another mode loses it, or finds it. */
function ofModes({ modes, did, instead, attention = 'decide' }: OfModes): AnswerFor {
  return (value, { from, to }) => {
    const [before, after] = [modes.includes(from), modes.includes(to)]
    if (before === after || isUnset(value)) return meansTheSame
    if (after)
      return {
        attention,
        kubeProxy: `In ${from} mode it has no effect.`,
        fairlead: `In ${to} mode it has one. ${did}`,
        action: 'Remove it if it was forgotten there.',
        rollback: readAgain,
      }
    return {
      attention,
      kubeProxy: did,
      fairlead: `In ${to} mode it has no effect.`,
      action: instead,
      rollback: readAgain,
    }
  }
}

/** What stands for "not set" in the file that kubeadm writes. */
export function isUnset(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === false || value === 0) return true
  if (value === '0s' || value === '0') return true
  if (Array.isArray(value)) return value.length === 0
  return typeof value === 'object' && Object.keys(value).length === 0
}

const ofIpvs = (did: string, instead: string, attention?: 'differs') =>
  ofModes({ modes: ['ipvs'], did, instead, ...(attention === undefined ? {} : { attention }) })
const ofWindows = (did: string) =>
  ofModes({ modes: ['kernelspace'], did, instead: 'Only HNS needs it.', attention: 'differs' })
const syncPeriod = (section: string, modes: readonly ProxyMode[]) =>
  ofModes({
    modes,
    did: 'It says how often rules are synced.',
    instead: `Each mode has its own section: the value of ${section} does not count, the default does.`,
    attention: 'differs',
  })
const timesOfIpvs = ofIpvs(
  'It says how long IPVS remembers connections.',
  'The other modes use conntrack: see conntrack.tcpEstablishedTimeout and conntrack.udpTimeout.',
)

const loopback = /^(127\.|::1$)/

const bindAddress: AnswerFor = (value, { to }) =>
  to === 'userspace' && loopback.test(String(value))
    ? {
        attention: 'decide',
        kubeProxy: 'It overrides the primary IP of the node.',
        fairlead: 'In userspace mode a loopback address means: serve on loopback only, for a laptop.',
        action: 'Remove it on a node of a cluster.',
        rollback: readAgain,
      }
    : meansTheSame

const masqueradeAll = ofModes({
  modes: ['iptables', 'ipvs', 'userspace'],
  did: 'All traffic to cluster IPs is masqueraded.',
  instead: 'To keep it: nftables.masqueradeAll: true.',
})

const splitStream: AnswerFor = (value) =>
  value === true
    ? differs(
        'In the file it is reset to false while flags are copied.',
        'It is honoured: errors go to stderr, the rest to stdout.',
      )
    : meansTheSame

const infoBuffer = same

const profiling: AnswerFor = (value) =>
  value === true
    ? differs(
        'Profiles are those of Go, at /debug/pprof/.',
        'They are those of Node.js: /debug/pprof/profile and /debug/pprof/heap.',
      )
    : meansTheSame

const kubeconfig: AnswerFor = (value) =>
  isUnset(value)
    ? meansTheSame
    : differs(
        `It reads ${String(value)}.`,
        'So does Fairlead, if the file is there. Its pods do not have that file: they use their service account.',
        'In the ConfigMap of the manifests leave it out (the chart does so). On a machine let Fairlead read the file.',
      )

/** By the path of the field. A flag has the answer of its field. */
export const fieldAnswers: Readonly<Record<string, AnswerFor>> = {
  apiVersion: same,
  kind: same,
  featureGates: same,
  'clientConnection.kubeconfig': kubeconfig,
  'clientConnection.acceptContentTypes': ignoredUnlessUnset(
    'It says which encodings the API server may use.',
    'Fairlead always uses JSON.',
  ),
  'clientConnection.contentType': (value) =>
    isUnset(value) || value === 'application/json'
      ? meansTheSame
      : differs('It asks the API server for this encoding.', 'Fairlead always uses JSON.'),
  'clientConnection.qps': same,
  'clientConnection.burst': same,
  'logging.format': same,
  'logging.flushFrequency': same,
  'logging.verbosity': same,
  'logging.vmodule': ignoredUnlessUnset(
    'Patterns name source files of kube-proxy.',
    'They name source files of Fairlead, which are others.',
    'Remove it, or name files of Fairlead.',
  ),
  'logging.options.text.splitStream': splitStream,
  'logging.options.text.infoBufferSize': infoBuffer,
  'logging.options.json.splitStream': splitStream,
  'logging.options.json.infoBufferSize': infoBuffer,
  hostnameOverride: same,
  bindAddress,
  healthzBindAddress: same,
  metricsBindAddress: same,
  bindAddressHardFail: same,
  enableProfiling: profiling,
  showHiddenMetricsForVersion: same,
  mode: same,
  'iptables.masqueradeBit': ofModes({
    modes: ['iptables', 'ipvs'],
    did: 'It is the bit of the packet mark that requests masquerading.',
    instead: 'If another program uses bit 14, set nftables.masqueradeBit in nftables and ebpf mode.',
    attention: 'differs',
  }),
  'iptables.masqueradeAll': masqueradeAll,
  'iptables.localhostNodePorts': same, // the behaviours of node ports ask for it
  'iptables.syncPeriod': syncPeriod('iptables', ['iptables', 'userspace', 'kernelspace']),
  'iptables.minSyncPeriod': syncPeriod('iptables', ['iptables', 'userspace', 'kernelspace']),
  'ipvs.syncPeriod': syncPeriod('ipvs', ['ipvs']),
  'ipvs.minSyncPeriod': syncPeriod('ipvs', ['ipvs']),
  'ipvs.scheduler': ofIpvs(
    'It chooses the scheduler of IPVS.',
    'iptables, nftables and ebpf mode pick at random; in userspace mode the annotation fairlead.dev/balancing has least-connections. If you need sh, mh or another one, stay in ipvs mode.',
  ),
  'ipvs.excludeCIDRs': ofIpvs(
    'It keeps virtual servers of other programs.',
    'Nothing: the other modes do not touch IPVS once their own rules are complete.',
    'differs',
  ),
  'ipvs.strictARP': ofIpvs(
    'It sets arp_ignore=1 and arp_announce=2.',
    'Nothing: without kube-ipvs0 nobody answers ARP for Services. The sysctls stay until a reboot.',
    'differs',
  ),
  'ipvs.tcpTimeout': timesOfIpvs,
  'ipvs.tcpFinTimeout': timesOfIpvs,
  'ipvs.udpTimeout': timesOfIpvs,
  'nftables.masqueradeBit': ofModes({
    modes: ['nftables', 'ebpf'],
    did: 'It is the bit of the packet mark that requests masquerading.',
    instead: 'If another program uses bit 14, set iptables.masqueradeBit.',
    attention: 'differs',
  }),
  'nftables.masqueradeAll': ofModes({
    modes: ['nftables', 'ebpf'],
    did: 'All traffic to cluster IPs is masqueraded.',
    instead: 'To keep it: iptables.masqueradeAll: true.',
  }),
  'nftables.syncPeriod': syncPeriod('nftables', ['nftables', 'ebpf']),
  'nftables.minSyncPeriod': syncPeriod('nftables', ['nftables', 'ebpf']),
  'winkernel.networkName': ofWindows('It names the HNS network.'),
  'winkernel.sourceVip': ofWindows('It is the source address without direct server return.'),
  'winkernel.enableDSR': ofWindows('It turns on direct server return.'),
  'winkernel.rootHnsEndpointName': ofWindows('It names the HNS endpoint of the host.'),
  'winkernel.forwardHealthCheckVip': ofWindows('It forwards health checks that are sent to the service address.'),
  detectLocalMode: same,
  'detectLocal.bridgeInterface': same,
  'detectLocal.interfaceNamePrefix': same,
  clusterCIDR: same,
  nodePortAddresses: same, // the behaviours of node ports say what its absence means
  oomScoreAdj: same,
  'conntrack.maxPerCore': same,
  'conntrack.min': same,
  'conntrack.tcpEstablishedTimeout': same,
  'conntrack.tcpCloseWaitTimeout': same,
  'conntrack.tcpBeLiberal': same,
  'conntrack.udpTimeout': same,
  'conntrack.udpStreamTimeout': same,
  configSyncPeriod: ignoredUnlessUnset(
    'All objects are handled again so often.',
    'It is checked and not needed: Fairlead does not resync.',
  ),
  portRange: (value, { to }) =>
    isUnset(value) || to !== 'userspace'
      ? meansTheSame
      : {
          attention: 'decide',
          kubeProxy: 'It is ignored (until 1.25, userspace mode used it).',
          fairlead: 'Proxy ports come from this range.',
          action:
            'Keep the range clear of node ports and of other programs, and large enough: each Service port takes one or two.',
          rollback: readAgain,
        },
  windowsRunAsService: same,
}

/** Flags that stand for no field. */
export const flagAnswers: Readonly<Record<string, AnswerFor>> = {
  config: same,
  'write-config-to': same,
  cleanup: always(
    differs(
      'It removes what kube-proxy left.',
      'It removes what any proxy left, and says what. See "Cleaning up" in docs/differences.md.',
    ),
  ),
  'init-only': same,
  master: same,
  version: always(differs('It prints the version of Kubernetes.', 'It prints that of Fairlead, too.')),
  'boot-id-file': same,
  'machine-id-file': same,
}

function ignoredUnlessUnset(kubeProxy: string, fairlead: string, action = ''): AnswerFor {
  return (value) => (isUnset(value) ? meansTheSame : differs(kubeProxy, fairlead, action))
}

/** In flags some things are said once for several modes. */
export const flagOverrides: Readonly<Record<string, AnswerFor>> = {
  'iptables-sync-period': syncPeriod('--iptables-sync-period', [
    'iptables',
    'nftables',
    'ebpf',
    'userspace',
    'kernelspace',
  ]),
  'iptables-min-sync-period': syncPeriod('--iptables-min-sync-period', [
    'iptables',
    'nftables',
    'ebpf',
    'userspace',
    'kernelspace',
  ]),
  'masquerade-all': same,
  'log-text-split-stream': same,
  'log-json-split-stream': same,
}

/** Older kube-proxies had them; 1.36 refuses them, as Fairlead does. */
export const formerFlags: ReadonlySet<string> = new Set(
  `add-dir-header alsologtostderr cleanup-iptables cleanup-ipvs conntrack-max log-backtrace-at log-dir log-file
  log-file-max-size logtostderr one-output resource-container skip-headers skip-log-headers stderrthreshold
  udp-timeout`.split(/\s+/),
)
