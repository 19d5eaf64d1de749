import { inGroup } from '../flags/flag.ts'
import type { FlagDeclaration } from '../flags/flag.ts'
import * as type from '../flags/flag-types.ts'
import { guardModes } from '../proxy-config.ts'
import type { Quantity } from '../quantity.ts'
import { consoleFlags } from './console-flags.ts'

export const strictSourceRangesHelp =
  'Where loadBalancerSourceRanges names ranges of one IP family only, close the load-balancer IPs of the other one. kube-proxy leaves them open.'

export const externalIPGuardHelp =
  "External and load-balancer IPs that are a node's, in a range of the cluster or another namespace's: warn (serve and say so), deny (not served), or off."

export const externalIPCidrsHelp = 'Serve external IPs in these ranges only. Repeatable. Empty: all.'

export const externalIPGuardNamespacesHelp =
  'Let annotations of a Namespace (fairlead.dev/external-ip-guard, fairlead.dev/external-ip-cidrs) change both for its Services. Needs the right to list and watch namespaces.'

export const localhostNodePortsFlag = {
  type: type.boolOrAuto,
  default: 'auto',
  help: 'Node ports on 127.0.0.1 and ::1, for programs of this node: true (in every Linux mode; where its rules cannot, Fairlead itself listens), false, or auto (as the mode has it).',
} as const

/** Every command that runs for long has them. */
export const logFileFlags = {
  'log-file': {
    type: type.text,
    default: '',
    help: 'Write the log to this file instead of stderr. A full one becomes NAME.1; NAME.3 is the oldest that is kept.',
  },
  'log-file-max-size': {
    type: type.quantity,
    default: { bytes: 50 * 1024 * 1024, text: '50Mi' },
    help: 'The size at which the log file is full: 500Ki, 50Mi, 1Gi.',
  },
} satisfies Readonly<Record<string, FlagDeclaration<string> | FlagDeclaration<Quantity>>>

/** For everything that has traces, the commands of a KPNG core too. */
export const otlpFlags = {
  'otlp-endpoint': {
    type: type.text,
    default: '',
    help: 'Send traces to this collector: http://HOST:4318, or http://HOST:4317 for gRPC. Empty: as the variables of OpenTelemetry say.',
  },
} satisfies Readonly<Record<string, FlagDeclaration<string>>>

/** Flags that kube-proxy does not have. Those with a field have it in the second document of the configuration file. */
export const fairleadFlags = {
  ...inGroup('Fairlead', {
    'config-change': {
      type: type.oneOf(['apply', 'exit']),
      default: 'apply',
      help: 'What a change of the --config file does: apply (what can change does so at once, the rest waits for a restart), or exit, as in kube-proxy.',
    },
    'remove-not-ready-taint': {
      type: type.bool,
      default: false,
      help: 'Remove the taint fairlead.dev/not-ready from this Node as soon as its Services are programmed. Needs the right to patch nodes.',
    },
    objects: {
      type: type.strings,
      default: [],
      help: 'Read Kubernetes objects from these files or directories, or - for standard input, instead of a cluster. Repeatable.',
    },
    'state-dir': {
      type: type.text,
      default: '',
      help: 'Keep the last complete state in this directory. A restart without the API server programs from it.',
    },
    'take-over': {
      type: type.bool,
      default: false,
      help: 'If a proxy runs on this node already, take its place without a gap, instead of waiting for its end. Linux only.',
    },
    'node-address': {
      type: type.ips,
      default: [],
      help: "The node's IP addresses, instead of those of its Node object. Repeatable.",
    },
    'service-series-limit': {
      type: type.int32,
      default: 2000,
      configField: 'serviceSeriesLimit',
      withConfigFile: 'kept',
      help: 'Have series of Service ports in /metrics up to this many, and of endpoints while both together are no more. 0 turns them off.',
    },
    'debug-socket': {
      type: type.text,
      default: '',
      help: 'Where commands such as "fairlead explain" ask this proxy: unix:///PATH, on Windows npipe:////./pipe/NAME, or none. Empty: the usual place.',
    },
    'debug-socket-group': {
      type: type.text,
      default: '',
      help: 'The group whose members may use the debug socket besides its owner: a name or a number. Not on Windows.',
    },
    ...consoleFlags,
    algorithm: {
      type: type.oneOf(['', 'random', 'round-robin', 'least-connections', 'source-hash', 'maglev']),
      default: '',
      help: 'How an endpoint is chosen where a Service does not say (annotation fairlead.dev/algorithm): random, round-robin, least-connections, source-hash or maglev, if the mode can do it. Empty: as the mode does it.',
    },
    'pod-weights': {
      type: type.bool,
      default: false,
      help: 'Watch pods with the label fairlead.dev/weight, and give them that weight in the Services of their namespace. Needs the right to list and watch pods.',
    },
    'userspace-workers': {
      type: type.int32,
      default: 0,
      help: 'Threads that relay connections in userspace mode. 0: one per core; with a single core, the main thread.',
    },
    'userspace-engine': {
      type: type.oneOf(['auto', 'native', 'node']),
      default: 'auto',
      help: 'What relays TCP connections in userspace mode: native, node, or auto (native if it runs here, otherwise node).',
    },
    'userspace-client-address': {
      type: type.oneOf(['auto', 'node']),
      default: 'auto',
      help: 'Whose address pods see in userspace mode: auto (that of the client where it can be kept), or always that of the node.',
    },
    'userspace-drain-timeout': {
      type: type.duration,
      default: 0,
      help: 'In userspace mode, reset connections this long after their endpoint or Service was removed. 0: never.',
    },
    ...otlpFlags,
    'trace-sampling': {
      type: type.int32,
      default: 1000,
      help: 'In userspace mode, trace 1 connection in so many; failed ones always, but few per second. 0: none.',
    },
    ...logFileFlags,
    'strict-source-ranges': {
      type: type.bool,
      default: false,
      configField: 'strictSourceRanges',
      withConfigFile: 'kept',
      help: strictSourceRangesHelp,
    },
    'external-ip-guard': {
      type: type.oneOf(guardModes),
      default: 'warn',
      configField: 'externalIPGuard',
      withConfigFile: 'kept',
      help: externalIPGuardHelp,
    },
    'external-ip-cidrs': {
      type: type.cidrs,
      default: [],
      configField: 'externalIPCIDRs',
      withConfigFile: 'kept',
      help: externalIPCidrsHelp,
    },
    'external-ip-guard-namespaces': {
      type: type.bool,
      default: false,
      configField: 'externalIPGuardNamespaces',
      withConfigFile: 'kept',
      help: externalIPGuardNamespacesHelp,
    },
    'destroy-old-connections': {
      type: type.bool,
      default: false,
      configField: 'destroyOldConnections',
      withConfigFile: 'kept',
      help: 'Honour fairlead.dev/max-connection-age in the nftables, iptables and ebpf modes: destroy the sockets of clients on this node whose connection is older. Linux only.',
    },
    'localhost-nodeports': {
      ...localhostNodePortsFlag,
      configField: 'localhostNodePorts',
      withConfigFile: 'kept',
    },
    'dry-run': {
      type: type.bool,
      default: false,
      help: 'With --cleanup: list what would be removed, and remove nothing.',
    },
    'only-own-tables': {
      type: type.bool,
      default: false,
      help: 'With --cleanup: remove only the nftables tables "fairlead", which no kube-proxy uses, so one may run meanwhile.',
    },
  }),
} as const
