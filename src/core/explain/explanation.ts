/**
 * What becomes of a connection to a Service on this node, and why: plain data, made from the Route that the backends
 * program and from the reasons of those who made it. Texts, JSON and tests read it; nobody decides anything by it.
 */
import type { Protocol, ServiceRecord, TrafficPolicy } from '../../api/records.ts'
import type { Family } from '../../net/ip.ts'
import type { Inspection, PlannedPiece } from '../inspection.ts'
import type { Entrance, RouteKey, TopologyMode } from '../route.ts'
import type { RefusedService } from '../routing/address-claims.ts'
import type { WhyUnused } from '../routing/categorize.ts'
import type { UnlistedEndpoint } from '../routing/endpoints.ts'
import type { ServiceNotice } from '../routing/service-notices.ts'

/** ICMP stands for an echo request, which has no port. */
export type AskedProtocol = Protocol | 'ICMP'

export type Target =
  /** The port is 0 for ICMP. */
  | { readonly kind: 'address'; readonly ip: string; readonly port: number; readonly protocol: AskedProtocol }
  /** At every address of this node that has it. */
  | { readonly kind: 'node-port'; readonly port: number; readonly protocol: Protocol }
  /** The port by its name or number; undefined: all of them. */
  | {
      readonly kind: 'service'
      readonly namespace: string
      readonly name: string
      readonly port: string | undefined
    }

export type From =
  /** Nobody said: a pod on this node for a cluster IP, a client outside for other addresses. */
  | { readonly kind: 'unsaid' }
  /** Some client that is neither on this node nor a pod. */
  | { readonly kind: 'outside' }
  /** A program on this node, or a pod in its network. */
  | { readonly kind: 'host' }
  /** Some pod on this node. */
  | { readonly kind: 'pod' }
  | { readonly kind: 'ip'; readonly ip: string }

export interface Question {
  readonly target: Target
  readonly from: From
}

/** Where a client is, as this node tells clients apart. */
export type SourcePlace = 'pod on this node' | 'this node' | 'pod elsewhere' | 'outside'

export interface Source {
  readonly place: SourcePlace
  /** Absent where any may be meant. For `host` the one that the kernel would take. */
  readonly ip?: string
  /** Whether it is treated as inside: as a pod on this node, or as the node itself. */
  readonly isInside: boolean
  /** A sentence: by which rule it was recognised. */
  readonly why: string
}

export interface FoundService {
  readonly key: RouteKey
  readonly namespace: string
  readonly name: string
  readonly portName: string
  readonly protocol: Protocol
  readonly port: number
  readonly type: ServiceRecord['type']
}

export interface FoundEntrance {
  readonly kind: Entrance['kind']
  /** Absent for a node port that was asked for without an address. */
  readonly ip?: string
  readonly port: number
  /** Of a range of ports, which begins with `port`. */
  readonly lastPort?: number
}

export interface AppliedPolicy {
  readonly policy: TrafficPolicy
  readonly field: 'internalTrafficPolicy' | 'externalTrafficPolicy'
  /** What the Service says; differs from `policy` where it is not for this source. */
  readonly asked: TrafficPolicy
  readonly why: string
}

export type Verdict =
  | { readonly kind: 'forward' }
  | { readonly kind: 'reject'; readonly because: 'no endpoint' | 'no such port' | 'closed meanwhile' }
  | {
      readonly kind: 'drop'
      readonly because: 'no endpoint here' | 'source not allowed' | 'no Service in the range'
    }
  /** No rule is for it: the packet goes where it would go without a proxy. */
  | {
      readonly kind: 'untouched'
      readonly because:
        | 'address of nobody'
        | 'address of a pod'
        | 'address of this node'
        | 'no such port'
        /** Node ports are not open on this address, or not on loopback. */
        | 'not open here'
        /** Named by a Service, and refused to it or hidden by a setting. */
        | 'not served'
        /** The mode's rules are not for what this node, or such a pod, sends. */
        | 'not for this source'
        /** The mode has nothing for a Service without endpoints. */
        | 'no endpoint'
        /** The mode does not speak this protocol. */
        | 'protocol not supported'
    }

/** What a TCP client meets; with UDP a refusal is an ICMP message, and what is closed or reset is silent. */
export type ClientSees =
  'an answer' | 'refused at once' | 'timeout' | 'accepted, then reset' | 'accepted, then closed' | 'whatever is there'

/** Whose address an endpoint sees as the source of a connection. */
export type SourceSeen = 'client' | 'node' | 'depends'

export interface ExplainedEndpoint {
  /** `ip:port`. */
  readonly address: string
  readonly nodeName: string
  /** Absent where its slice does not say. */
  readonly zone?: string
  readonly isLocal: boolean
}

/** Exactly: `part` of `of` new connections. */
export interface Share {
  readonly part: number
  readonly of: number
}

export interface Answerer extends ExplainedEndpoint {
  /** Absent where it follows from other things than the number of endpoints. */
  readonly share?: Share
  readonly sourceSeen: SourceSeen
  /** Shutting down, and used because nothing else is left. */
  readonly isLastResort: boolean
}

export type WhyNot = WhyUnused | UnlistedEndpoint['why']

export interface NotAnswering extends ExplainedEndpoint {
  readonly why: WhyNot
  /** For people: which zones, which policy, which ports there are. */
  readonly detail?: string
}

/** What only a running process knows. */
interface FailedDials {
  readonly count: number
  /** When the endpoint last got a connection; absent: not as far as is known. */
  readonly lastUsed?: string
}

export interface Observed {
  /** From the removal of an endpoint in the API to the commit on this node: the last one of this Service. */
  readonly timeToSafety?: { readonly seconds: number; readonly endpoint?: string; readonly atMs: number }
  /** Open now, by the `ip:port` of the endpoint. */
  readonly openConnections?: Readonly<Record<string, number>>
  /** Attempts to reach an endpoint that failed, by its `ip:port`, where the mode dials and some did. */
  readonly failedDials?: Readonly<Record<string, FailedDials>>
  /** Why it is not known how many are open, where it could be: part of a sentence. */
  readonly uncounted?: string
  /** The busiest endpoint compared with an even share. */
  readonly skew?: { readonly ratio: number; readonly evenShare: number }
  /** Why the data plane does not hold what was planned. */
  readonly notProgrammed?: string
}

export interface Explanation {
  readonly mode: string
  readonly family: Family
  readonly node: { readonly name: string; readonly zone: string; readonly ip: string }
  readonly source: Source
  readonly destination: {
    readonly ip?: string
    readonly port: number
    /** Where a whole range of ports was asked about. */
    readonly lastPort?: number
    readonly protocol: AskedProtocol
  }

  /** Absent where no Service has the address. */
  readonly service?: FoundService
  readonly entrance?: FoundEntrance
  /** Other ways into the same Service port. */
  readonly otherEntrances: readonly FoundEntrance[]
  /** Other Services that name the address and do not get it. */
  readonly refused: readonly RefusedService[]
  /** Services whose address, or port, is near the one that nobody has: sentences. */
  readonly near: readonly string[]

  readonly policy?: AppliedPolicy
  /** Absent where everybody may come. */
  readonly sourceRanges?: {
    readonly ranges: readonly string[]
    /** It depends where the client may be anywhere: then the rest is about one that may come. */
    readonly isAllowed: boolean | 'depends'
    /** False where the mode cannot tell sources apart. */
    readonly isEnforced: boolean
    readonly why: string
  }

  readonly verdict: Verdict
  readonly clientSees: ClientSees
  /** Further sentences about the verdict: what of the mode or the settings makes it so. */
  readonly remarks: readonly string[]

  /** How the mode chooses, in a few words. */
  readonly choice?: string
  readonly answerers: readonly Answerer[]
  readonly others: readonly NotAnswering[]
  readonly topology: TopologyMode
  /** Some endpoint has hints, and this node does not follow them: why. */
  readonly whyNoHints?: string
  readonly affinitySeconds?: number
  /** One sentence; absent where nobody answers. */
  readonly sourceSeenWhy?: string
  /** What happens here as soon as no endpoint is left. */
  readonly withoutEndpoints?: {
    readonly verdict: Verdict['kind']
    readonly clientSees: ClientSees
    /** As long as other nodes have some, which this one may not use. */
    readonly whileOthersHave?: ClientSees
  }
  readonly healthCheck?: { readonly port: number; readonly localEndpoints: number }

  readonly notices: readonly ServiceNotice[]
  readonly observed?: Observed
  /** What the mode would program for this way in, without a look at what is there. */
  readonly pieces?: readonly PlannedPiece[]
  /** What is there for this way in, compared with the plan. */
  readonly inspection?: Inspection
  /** How many pieces of other ways in are not as planned; absent: none, as far as they were read. */
  readonly wrongElsewhere?: number
}

export type Answer =
  | { readonly ok: true; readonly question: Question; readonly explanations: readonly Explanation[] }
  /** The question names something that is not there: a sentence that says what to ask instead. */
  | { readonly ok: false; readonly kind: 'mistake' | 'not found' | 'not ready'; readonly message: string }
