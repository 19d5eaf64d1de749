import { inGroup } from '../flags/flag.ts'
import * as type from '../flags/flag-types.ts'
import { versionRequest } from './version-flag.ts'

const second = 1_000
const minute = 60 * second

/** How the process runs, which API server it uses and where it listens. */
export const processFlags = {
  ...inGroup('General', {
    config: { type: type.text, default: '', help: 'The configuration file (KubeProxyConfiguration, YAML or JSON).' },
    'write-config-to': {
      type: type.text,
      default: '',
      help: 'Write the effective configuration to this file and exit.',
    },
    cleanup: { type: type.bool, default: false, help: 'Remove what any proxy mode left in the kernel, then exit.' },
    'init-only': {
      type: type.bool,
      default: false,
      help: 'Do what needs full root privileges, then exit. Afterwards CAP_NET_ADMIN is enough to run.',
    },
    'hostname-override': {
      type: type.text,
      default: '',
      configField: 'hostnameOverride',
      withConfigFile: 'kept',
      help: "The name of this proxy's Node, if it is not the host name. Wins over the file.",
    },
    'feature-gates': {
      type: type.mapStringBool,
      default: {},
      configField: 'featureGates',
      help: 'Feature gates of Kubernetes as Name=true|false, separated by commas.',
    },
    'oom-score-adj': {
      type: type.int32,
      default: -999,
      configField: 'oomScoreAdj',
      help: 'How readily the kernel kills this process when memory is short: -1000 (never) to 1000.',
    },
    'boot-id-file': {
      type: type.text,
      default: '/proc/sys/kernel/random/boot_id',
      help: 'Accepted because kube-proxy has it. No effect.',
    },
    'machine-id-file': {
      type: type.text,
      default: '/etc/machine-id,/var/lib/dbus/machine-id',
      help: 'Accepted because kube-proxy has it. No effect.',
    },
    version: {
      type: versionRequest,
      default: { kind: 'none' },
      help: 'Print the version and exit. --version=raw prints all details; --version=vX.Y.Z-… sets the version to report.',
    },
  }),

  ...inGroup('API server', {
    kubeconfig: {
      type: type.text,
      default: '',
      configField: 'clientConnection.kubeconfig',
      help: 'The kubeconfig file. Without --kubeconfig and --master, the service account of the pod is used.',
    },
    master: { type: type.text, default: '', help: 'URL of the API server. Wins over the kubeconfig.' },
    'kube-api-content-type': {
      type: type.text,
      default: 'application/vnd.kubernetes.protobuf',
      configField: 'clientConnection.contentType',
      help: 'Accepted because kube-proxy has it. Fairlead always uses JSON.',
    },
    'kube-api-burst': {
      type: type.int32,
      default: 10,
      configField: 'clientConnection.burst',
      help: 'How many requests to the API server may be sent at once, above --kube-api-qps.',
    },
    'kube-api-qps': {
      type: type.float32,
      default: 5,
      configField: 'clientConnection.qps',
      help: 'Requests to the API server per second. Negative: no limit.',
    },
    'config-sync-period': {
      type: type.duration,
      default: 15 * minute,
      configField: 'configSyncPeriod',
      help: 'Accepted and checked (must be greater than 0); Fairlead needs no resync.',
    },
  }),

  ...inGroup('Addresses', {
    'bind-address': {
      type: type.ip,
      default: '0.0.0.0',
      configField: 'bindAddress',
      help: "The node's primary IP, if it is not that of the Node object. Despite the name, no socket is bound to it.",
    },
    'bind-address-hard-fail': {
      type: type.bool,
      default: false,
      configField: 'bindAddressHardFail',
      help: 'Exit if the health or metrics port cannot be opened, instead of retrying.',
    },
    'healthz-bind-address': {
      type: type.ipPort,
      default: '0.0.0.0:10256',
      configField: 'healthzBindAddress',
      help: 'Address of /healthz, /livez and /readyz. An empty value changes nothing; --healthz-port=0 turns the server off.',
    },
    'healthz-port': {
      type: type.int32,
      default: 10256,
      configField: 'healthzBindAddress',
      deprecated: 'use --healthz-bind-address with a port instead.',
      help: 'The port, if --healthz-bind-address has none. 0 turns the server off.',
    },
    'metrics-bind-address': {
      type: type.ipPort,
      default: '127.0.0.1:10249',
      configField: 'metricsBindAddress',
      help: 'Address of /metrics. An empty value changes nothing; the server cannot be turned off.',
    },
    'metrics-port': {
      type: type.int32,
      default: 10249,
      configField: 'metricsBindAddress',
      deprecated: 'use --metrics-bind-address with a port instead.',
      help: 'The port, if --metrics-bind-address has none. 0 is refused.',
    },
    profiling: {
      type: type.bool,
      default: false,
      configField: 'enableProfiling',
      help: 'Serve /debug on the metrics port.',
    },
    'show-hidden-metrics-for-version': {
      type: type.text,
      default: '',
      configField: 'showHiddenMetricsForVersion',
      help: 'Show metrics that this minor version hides. The value is the previous minor version, such as 1.35.',
    },
  }),
} as const
