/** The flags of the KPNG commands: KPNG's own names and meanings, and what Fairlead has besides. */
import { consoleFlags } from '../../config/daemon/console-flags.ts'
import { logFileFlags, otlpFlags } from '../../config/daemon/fairlead-flags.ts'
import { windowsServiceFlag } from '../../config/daemon/windows-flags.ts'
import { inGroup } from '../../config/flags/flag.ts'
import * as type from '../../config/flags/flag-types.ts'

const none: readonly string[] = []

export const commonFlags = inGroup('Process', {
  v: { type: type.level, default: 0, short: 'v', help: 'Verbosity of the log.' },
  exportMetrics: {
    type: type.text,
    default: '',
    help: 'Serve /metrics and /healthz on this IP:PORT. Empty: do not serve them.',
  },
  ...otlpFlags,
  ...logFileFlags,
  'windows-service': windowsServiceFlag,
})

export const kubeFlags = inGroup('Kubernetes', {
  kubeconfig: {
    type: type.text,
    default: '',
    help: 'The kubeconfig file. Empty: $KUBECONFIG, or the service account of the pod.',
  },
  server: { type: type.text, default: '', help: 'The API server, instead of the one in the kubeconfig.' },
  'service-proxy-name': {
    type: type.text,
    default: '',
    help: 'Only Services whose label service.kubernetes.io/service-proxy-name has this value. Empty: Services without the label.',
  },
  'with-service-labels': { type: type.strings, default: none, help: 'Patterns of Service labels to pass on.' },
  'with-service-annotations': {
    type: type.strings,
    default: none,
    help: 'Patterns of Service annotations to pass on.',
  },
  'with-node-labels': {
    type: type.strings,
    default: ['kubernetes.io/hostname', 'topology.kubernetes.io/zone', 'topology.kubernetes.io/region'],
    help: 'Patterns of Node labels to pass on.',
  },
  'with-node-annotations': { type: type.strings, default: none, help: 'Patterns of Node annotations to pass on.' },
})

export const fileFlags = inGroup('Files', {
  input: {
    type: type.strings,
    default: none,
    short: 'i',
    help: 'Files or folders of Kubernetes objects (repeatable), or one state file as to-file writes it.',
  },
})

/** One flag for both directions: on a relay it allows plaintext both to the core it follows and to its clients. */
const plaintextFlag = {
  'allow-plaintext': {
    type: type.bool,
    default: false,
    help:
      'Allow other machines without TLS. Anyone on the network path can then read the state of the cluster and tell ' +
      'backends what to program.',
  },
}

export const apiFlags = inGroup('API client', {
  api: {
    type: type.text,
    default: '127.0.0.1:12090',
    help: 'The KPNG server to follow: HOST:PORT, dns:///NAME:PORT or unix:///PATH (on Windows npipe:////./pipe/NAME).',
  },
  'api-client-tls-key': { type: type.text, default: '', help: 'The private key of this client. Turns on TLS.' },
  'api-client-tls-crt': { type: type.text, default: '', help: 'The certificate of this client.' },
  'api-client-tls-ca': { type: type.text, default: '', help: "The CA that signed the server's certificate." },
  ...plaintextFlag,
  'max-msg-size': { type: type.int32, default: 4_194_304, help: 'Largest message to accept, in bytes.' },
})

export const toApiFlags = inGroup('API server', {
  listen: {
    type: type.text,
    default: 'tcp://127.0.0.1:12090',
    help: 'The address to serve on: tcp://HOST:PORT or unix:///PATH (on Windows npipe:////./pipe/NAME). --api means the same, unless the source is another core.',
  },
  'globalv1-api': { type: type.bool, default: true, help: 'Serve the state of the whole cluster.' },
  'local-api': { type: type.bool, default: true, help: 'Serve the state that each node has to program.' },
  'listen-tls-key': {
    type: type.text,
    default: '',
    help: 'The private key. Turns on TLS; clients then need certificates signed by --listen-tls-ca.',
  },
  'listen-tls-crt': { type: type.text, default: '', help: 'The certificate.' },
  'listen-tls-ca': {
    type: type.text,
    default: '',
    help: "The CA that signs the clients' certificates. Required with TLS.",
  },
  ...plaintextFlag,
  'max-clients': { type: type.int32, default: 10_000, help: 'Refuse more clients than this.' },
  'push-interval': {
    type: type.duration,
    default: 100,
    help: 'Shortest time between two answers to a client. Changes in between are sent together.',
  },
  ...consoleFlags,
})

export const nodeFlags = inGroup('Node', {
  'node-name': { type: type.text, default: '', help: 'The name of this node. Empty: $NODE_NAME, or the host name.' },
})

/** For modes that follow a KPNG server, which does not tell these. */
export const behindApiFlags = inGroup('Node', {
  ...nodeFlags,
  'service-cidrs': {
    type: type.strings,
    default: none,
    help: 'The ranges of cluster IPs. In nftables mode, addresses in them that belong to no Service are rejected.',
  },
})

export const printFlags = inGroup('Output', {
  once: { type: type.bool, default: false, help: 'Exit after the first complete state.' },
})

export const execFlags = inGroup('Program', {
  'answer-within': {
    type: type.duration,
    default: 60_000,
    help: 'How long the program may take to answer a batch before it is restarted.',
  },
})

export const toFileFlags = inGroup('Output', {
  output: { type: type.text, default: 'global-state.yaml', short: 'o', help: 'The state file to keep up to date.' },
})
