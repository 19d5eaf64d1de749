/**
 * What a server of the console says to its page, as JSON. The page imports these types and nothing else of the server.
 * What is empty, zero by nature or not known is left out: there may be 50,000 Services.
 */
import type { Family } from '../../net/ip.ts'

/** Where the page finds things. Everything else that is asked with GET is the page itself. */
export const paths = {
  /** Server-sent events, see `LiveEvents`: `?topic=overview&topic=service/NAMESPACE/NAME`. */
  live: '/api/live',
  /** POST `{ "token": … }`: 204 with a cookie, or 401. GET: 204 if the reader may look, otherwise 401. */
  login: '/api/login',
  /** In the demo only: POST a `DemoAction`, as JSON: 204, or 400 with a sentence. */
  demo: '/api/demo',
  /** The pages of docs/observability.md. */
  debug: '/debug/',
} as const

/** A topic is one of these, or `service/NAMESPACE/NAME`. Each page follows those that it shows. */
export type Topic = 'overview' | 'services' | `service/${string}/${string}` | 'syncs' | 'nodes' | 'demo'

/** The name of each event in the stream, and its data. */
export interface LiveEvents {
  /** First in every stream, whatever the topics are. */
  readonly about: About
  readonly overview: Overview
  readonly services: ServicesChange
  readonly service: ServiceDetail
  readonly syncs: SyncsChange
  readonly nodes: NodesChange
  readonly demo: DemoState
}

/** Who serves the page. */
export interface About {
  readonly kind: 'node' | 'core'
  readonly isDemo: boolean
  readonly version: string
  /** Another one means another process: what the page holds is old. */
  readonly process: string
  readonly startedAt: string
  /** Of a node. */
  readonly nodeName?: string
  readonly mode?: string
  readonly families: readonly Family[]
  /** Topics and pages that this server has; the page hides the others. */
  readonly topics: readonly ('overview' | 'services' | 'service' | 'syncs' | 'nodes' | 'demo')[]
  readonly debugPages: readonly string[]
}

export interface Overview {
  /** On the server's clock. */
  readonly at: string
  readonly source: {
    /** `the API server at https://…`, `files`, … */
    readonly from: string
    readonly state: 'live' | 'saved' | 'waiting' | 'lost'
    /** When it was last heard of, and since when it is as it is. */
    readonly lastContact?: string
    readonly since?: string
    /** What keeps it from being live: part of a sentence. */
    readonly why?: string
  }
  readonly isHealthy: boolean
  readonly isReady: boolean
  readonly counts: {
    readonly services: number
    readonly endpoints: number
    readonly servicesWithoutEndpoints: number
    /** Service ports that are programmed, over all families. */
    readonly routes: number
  }
  /** Since the process started; the page makes rates of them. */
  readonly events: number
  readonly syncs: readonly FamilySyncs[]
  /** Worst first. */
  readonly problems: readonly Problem[]
}

export interface FamilySyncs {
  readonly family: Family
  readonly count: number
  readonly failures: number
  readonly lastAt?: string
  readonly lastMs?: number
  readonly pending: number
}

export interface Problem {
  readonly severity: 'error' | 'warning' | 'note'
  /** A sentence. */
  readonly text: string
  /** `NAMESPACE/NAME` of the Service it concerns. */
  readonly service?: string
  readonly at?: string
}

export interface ServicesChange {
  /** The first of a list: forget all rows. */
  readonly isFirst?: true
  /** More of the same list follows. */
  readonly hasMore?: true
  readonly rows: readonly ServiceRow[]
  /** Keys of Services that are gone. */
  readonly gone?: readonly string[]
  /** By key: new numbers of rows that are otherwise as they were. */
  readonly traffic?: Readonly<Record<string, TrafficInShort>>
}

export interface ServiceRow {
  /** `NAMESPACE/NAME` */
  readonly key: string
  readonly type: string
  readonly clusterIPs: readonly string[]
  /** External IPs and those of load balancers. */
  readonly external?: readonly string[]
  readonly ports: readonly PortInShort[]
  /** What is not the default: `internal Local`, `external Local`, `affinity`, `same zone`, … */
  readonly policies?: readonly string[]
  readonly endpoints: EndpointCounts
  /** The first thing that is wrong with it, as a sentence. */
  readonly problem?: string
  readonly traffic?: TrafficInShort
}

export interface PortInShort {
  readonly name?: string
  readonly port: number
  readonly nodePort?: number
  readonly protocol: string
}

export interface EndpointCounts {
  /** In the slices. */
  readonly total: number
  readonly ready: number
  /** Those that this node uses. */
  readonly used: number
}

/** What the mode cannot know is missing. Rates are per second; one that is zero, or not known yet, is missing, too. */
export interface TrafficInShort {
  readonly connections?: number
  readonly open?: number
  readonly connectionRate?: number
  readonly byteRate?: number
  readonly failures?: number
  readonly lastUsed?: string
}

/** The whole picture of one Service: who comes where, by which policy, to whom. */
export interface ServiceDetail {
  readonly key: string
  /** There is no such Service. */
  readonly isGone?: true
  readonly row?: ServiceRow
  readonly ports: readonly PortDetail[]
  readonly notices: readonly Problem[]
}

export interface PortDetail {
  /** `NAMESPACE/NAME:PORT/PROTOCOL` */
  readonly route: string
  readonly family: Family
  readonly port: PortInShort
  readonly entrances: readonly EntranceDetail[]
  /** Every one in the slices. */
  readonly endpoints: readonly EndpointDetail[]
  readonly affinitySeconds?: number
  readonly traffic?: TrafficInShort
  /** How far from even open connections are: the busiest endpoint against an even share. */
  readonly skew?: number
  /** Why the data plane does not hold what was planned. */
  readonly notProgrammed?: string
}

export interface EntranceDetail {
  readonly kind: 'cluster-ip' | 'external-ip' | 'load-balancer-ip' | 'node-port'
  /** As a client writes it; of a node port, the port alone. */
  readonly address: string
  /** What becomes of clients on this node and of others. */
  readonly local: OutcomeDetail
  readonly outside: OutcomeDetail
  /** CIDRs that may come, if not all. */
  readonly allowed?: readonly string[]
}

export interface OutcomeDetail {
  /** Untouched: no rule of the mode is for it, the packet goes where it would go without a proxy. */
  readonly does: 'forward' | 'reject' | 'drop' | 'untouched'
  /** In the words of `fairlead explain`: `answered by one of 3 endpoints`, `refused: no endpoint can serve`. */
  readonly text: string
  /** By which endpoints were chosen: Cluster or Local. */
  readonly policy: 'Cluster' | 'Local'
  /** Addresses of `PortDetail.endpoints` that may answer, of a forward. */
  readonly to?: readonly string[]
}

export interface EndpointDetail {
  /** `IP:PORT` */
  readonly address: string
  readonly node?: string
  readonly zone?: string
  readonly isLocal?: true
  readonly state: 'ready' | 'not ready' | 'terminating, still serving' | 'terminating'
  /** Of new connections to the cluster IP, from 0 to 1. Without it and without `whyNot` it gets some, nobody knows how many. */
  readonly share?: number
  /** Why it gets none there, in the words of `fairlead explain`. */
  readonly whyNot?: string
  readonly traffic?: TrafficInShort
}

/** What `/debug/explain?output=told` answers: the data (here as far as the page reads it), and the same in words. */
export interface ToldAnswer {
  readonly explanations: readonly ExplainedInShort[]
  /** One sentence for each of them. */
  readonly verdicts: readonly string[]
  /** Of the one that is told in full. Absent where there are several of equal rank. */
  readonly told?: ToldExplanation
  /** All of it, as `fairlead explain` prints it. */
  readonly text: string
}

interface ExplainedInShort {
  readonly destination: { readonly ip?: string; readonly port: number; readonly protocol: string }
  readonly source: { readonly place: string; readonly ip?: string }
  readonly service?: { readonly portName: string; readonly port: number }
  readonly verdict: { readonly kind: string }
}

export interface ToldExplanation {
  readonly title: string
  readonly verdict: string
  /** Why the verdict may not be true. */
  readonly doubt?: string
  readonly steps: readonly ToldStep[]
}

/** A sentence, and what is listed below it. */
export interface ToldStep {
  readonly says: string
  readonly lists?: { readonly header: readonly string[]; readonly rows: readonly (readonly string[])[] }
}

export interface SyncsChange {
  readonly isFirst?: true
  /** Newest last. */
  readonly syncs: readonly SyncInShort[]
}

/** `/debug/syncs` has the whole tree. */
export interface SyncInShort {
  readonly traceId: string
  readonly startedAt: string
  readonly durationMs: number
  readonly family: string
  readonly trigger: string
  readonly events: number
  readonly error?: string
}

/** Of a core: the nodes that follow it. */
export interface NodesChange {
  readonly isFirst?: true
  /** Of what all nodes are sent; a node with a lower one lags behind. */
  readonly revision: number
  readonly rows: readonly NodeRow[]
  readonly gone?: readonly string[]
}

export interface NodeRow {
  /** Its name, and a number where several clients have the same one. */
  readonly key: string
  readonly node: string
  readonly peer: string
  /** What it is, as far as it says so: `fairlead 0.9.0, nftables`. */
  readonly program?: string
  readonly mode?: string
  readonly connectedAt: string
  /** When it last asked for or took something. */
  readonly lastContact: string
  readonly revision: number
  /** How long the oldest change that it lacks has been waiting. */
  readonly lagMs?: number
  readonly isConnected: boolean
}

/** Of the demo: the sample application, what its clients meet, and what one can do. It follows the objects, whoever writes them. */
export interface DemoState {
  /** For `export KUBECONFIG=…` in a shell; the lines of `DemoButton.kubectl` work there. */
  readonly kubeconfig: string
  readonly isApiServerUp: boolean
  /** Stops or starts it. */
  readonly apiServer: DemoButton
  readonly services: readonly DemoService[]
  /** Newest last. */
  readonly story: readonly DemoMoment[]
}

export interface DemoService {
  /** `NAMESPACE/NAME` */
  readonly key: string
  readonly protocol: string
  /** `IP:PORT` at which the demo serves it; absent while it does not. */
  readonly address?: string
  readonly hasAffinity: boolean
  /** By number. */
  readonly replicas: readonly DemoReplica[]
  /** More, fewer, affinity. */
  readonly actions: readonly DemoButton[]
  readonly clients: readonly DemoClient[]
}

export interface DemoReplica {
  readonly name: string
  /** `IP:PORT` */
  readonly address: string
  /** `unready`: its server runs, but its endpoint says that it is not ready. */
  readonly state: 'running' | 'unready' | 'stopped' | 'draining'
  readonly actions: readonly DemoButton[]
}

/** Who asks a Service, a little more than once a second for as long as somebody looks. */
export interface DemoClient {
  readonly address: string
  /** The replicas that answered, newest last; empty where nobody did. */
  readonly answers: readonly string[]
}

/** Something that happened, as a sentence. */
export interface DemoMoment {
  readonly at: string
  /** `NAMESPACE/NAME` of the Service it concerns; absent: all of them. */
  readonly service?: string
  readonly text: string
}

export interface DemoButton {
  readonly action: DemoAction
  readonly label: string
  /** What one can type to the same effect; absent where kubectl has no such thing. */
  readonly kubectl?: string
  /** What to look at. */
  readonly about: string
  /** Why it cannot be used now. */
  readonly whyNot?: string
}

export interface DemoAction {
  readonly kind: 'stop' | 'start' | 'drain' | 'scale' | 'affinity' | 'api-server'
  /** `NAMESPACE/NAME`; of a scale and of affinity. */
  readonly service?: string
  /** Of a stop, start and drain. */
  readonly replica?: string
  readonly to?: number | 'on' | 'off'
}
