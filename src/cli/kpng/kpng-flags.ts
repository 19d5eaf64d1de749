/** The flags of the KPNG commands: KPNG's own names and meanings, and what Fairlead has besides. */
import { inGroup } from '../../config/flags/flag.ts'
import * as type from '../../config/flags/flag-types.ts'

const none: readonly string[] = []

export const commonFlags = inGroup('Process', {
  v: { type: type.level, default: 0, short: 'v', help: 'Verbosity of the log.' },
  exportMetrics: {
    type: type.text,
    default: '',
    help: 'Serve /metrics and /healthz on this IP:PORT; nowhere when empty.',
  },
})

export const kubeFlags = inGroup('Kubernetes', {
  kubeconfig: { type: type.text, default: '', help: 'How to reach the API server; $KUBECONFIG or the pod when empty.' },
  server: { type: type.text, default: '', help: 'The API server, instead of the one in the kubeconfig.' },
  'service-proxy-name': {
    type: type.text,
    default: '',
    help: 'Only Services that ask for this proxy by label; those that ask for none when empty.',
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

/** One word for both sides: a relay that says it means what it follows and what it serves. */
const plaintextFlag = {
  'allow-plaintext': {
    type: type.bool,
    default: false,
    help:
      'Do without TLS beyond this machine, too: whoever is on the way can read the state of the cluster, and tell ' +
      'backends what to program.',
  },
}

export const apiFlags = inGroup('API client', {
  api: {
    type: type.text,
    default: '127.0.0.1:12090',
    help: 'The KPNG server to follow: HOST:PORT, dns:///NAME:PORT or unix:///PATH.',
  },
  'api-client-tls-key': { type: type.text, default: '', help: 'Our private key; with it, TLS is used.' },
  'api-client-tls-crt': { type: type.text, default: '', help: 'Our certificate.' },
  'api-client-tls-ca': { type: type.text, default: '', help: "The CA of the server's certificate." },
  ...plaintextFlag,
  'max-msg-size': { type: type.int32, default: 4_194_304, help: 'Largest message that is read, in bytes.' },
})

export const toApiFlags = inGroup('API server', {
  listen: {
    type: type.text,
    default: 'tcp://127.0.0.1:12090',
    help: 'Where to serve: tcp://HOST:PORT or unix:///PATH. Unless another API is followed, --api says the same.',
  },
  'globalv1-api': { type: type.bool, default: true, help: 'Serve the state of the whole cluster.' },
  'local-api': { type: type.bool, default: true, help: 'Serve what each node has to program.' },
  'listen-tls-key': {
    type: type.text,
    default: '',
    help: 'The private key; with it, TLS is used and clients need certificates of --listen-tls-ca.',
  },
  'listen-tls-crt': { type: type.text, default: '', help: 'The certificate.' },
  'listen-tls-ca': { type: type.text, default: '', help: "The CA of the clients' certificates; needed with TLS." },
  ...plaintextFlag,
  'max-clients': { type: type.int32, default: 10_000, help: 'Clients beyond this number are refused.' },
  'push-interval': {
    type: type.duration,
    default: 100,
    help: 'Least time between two answers to a client; changes in between travel together.',
  },
})

export const nodeFlags = inGroup('Node', {
  'node-name': { type: type.text, default: '', help: 'The node to ask for; $NODE_NAME or the host name when empty.' },
})

/** For modes behind a KPNG server, which does not know them. */
export const behindApiFlags = inGroup('Node', {
  ...nodeFlags,
  'service-cidrs': {
    type: type.strings,
    default: none,
    help: 'The ranges of cluster IPs: the nftables mode rejects what is in them and belongs to no Service.',
  },
})

export const printFlags = inGroup('Output', {
  once: { type: type.bool, default: false, help: 'End after the first complete state.' },
})

export const execFlags = inGroup('Program', {
  'answer-within': {
    type: type.duration,
    default: 60_000,
    help: 'How long the program may take for a batch before it is started again.',
  },
})

export const toFileFlags = inGroup('Output', {
  output: { type: type.text, default: 'global-state.yaml', short: 'o', help: 'The state file to keep up to date.' },
})
