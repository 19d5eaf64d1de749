import { inGroup } from '../flags/flag.ts'
import * as type from '../flags/flag-types.ts'
import { versionRequest } from './version-flag.ts'

const second = 1_000
const minute = 60 * second

/** How the process runs, which API server it asks and where it answers itself. */
export const processFlags = {
  ...inGroup('General', {
    config: { type: type.text, default: '', help: 'The configuration file (KubeProxyConfiguration, YAML or JSON).' },
    'write-config-to': {
      type: type.text,
      default: '',
      help: 'Write the effective configuration to this file and exit.',
    },
    cleanup: { type: type.bool, default: false, help: 'Remove the rules of every proxy mode and exit.' },
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
      help: 'The name of the Node this proxy runs on, when it is not the host name. Wins over the file.',
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
      help: 'Print the version and exit; --version=raw prints every detail, --version=vX.Y.Z-… changes what is reported.',
    },
  }),

  ...inGroup('API server', {
    kubeconfig: {
      type: type.text,
      default: '',
      configField: 'clientConnection.kubeconfig',
      help: 'The kubeconfig file. Without it and --master, the service account of the pod is used.',
    },
    master: { type: type.text, default: '', help: 'URL of the API server. Wins over the kubeconfig.' },
    'kube-api-content-type': {
      type: type.text,
      default: 'application/vnd.kubernetes.protobuf',
      configField: 'clientConnection.contentType',
      help: 'Content type of requests.',
    },
    'kube-api-burst': {
      type: type.int32,
      default: 10,
      configField: 'clientConnection.burst',
      help: 'How many requests may exceed the rate at once.',
    },
    'kube-api-qps': {
      type: type.float32,
      default: 5,
      configField: 'clientConnection.qps',
      help: 'Requests per second. Negative: no limit.',
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
      help: "The node's primary IP, when it is not that of the Node object. No socket is bound to it, despite the name.",
    },
    'bind-address-hard-fail': {
      type: type.bool,
      default: false,
      configField: 'bindAddressHardFail',
      help: 'Exit when the health or metrics port cannot be opened, instead of trying again.',
    },
    'healthz-bind-address': {
      type: type.ipPort,
      default: '0.0.0.0:10256',
      configField: 'healthzBindAddress',
      help: 'Where /healthz and /livez are served. An empty value changes nothing; --healthz-port=0 turns the server off.',
    },
    'healthz-port': {
      type: type.int32,
      default: 10256,
      configField: 'healthzBindAddress',
      deprecated: 'use --healthz-bind-address with a port instead.',
      help: 'The port of --healthz-bind-address when that has none. 0 turns the server off.',
    },
    'metrics-bind-address': {
      type: type.ipPort,
      default: '127.0.0.1:10249',
      configField: 'metricsBindAddress',
      help: 'Where /metrics is served. An empty value changes nothing; the server cannot be turned off.',
    },
    'metrics-port': {
      type: type.int32,
      default: 10249,
      configField: 'metricsBindAddress',
      deprecated: 'use --metrics-bind-address with a port instead.',
      help: 'The port of --metrics-bind-address when that has none. 0 is refused.',
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
      help: 'Show metrics that were hidden since the previous minor version, such as 1.35.',
    },
  }),
} as const
