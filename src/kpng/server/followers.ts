/** Who follows this server, and who did until a while ago: for people who look after many nodes. */
import type { Clock } from '../../core/clock.ts'
import { RevisionTimes } from './revision-times.ts'

/** A client, as long as its stream is open. */
export interface OpenFollower {
  /** Empty: it has not asked yet, or for the whole cluster. */
  readonly node: string
  /** What it has taken; 0: nothing yet. */
  readonly revision: number
  /** When it was last heard of (Unix milliseconds). */
  readonly lastContactMs: number
}

/** What is known of a client from its first moment. */
export interface FollowerOrigin {
  readonly api: 'local' | 'global'
  /** Its address; empty on a socket of this machine. */
  readonly peer: string
  /** As it names itself. */
  readonly userAgent: string
}

export interface Follower extends OpenFollower, FollowerOrigin {
  readonly id: number
  readonly connectedAtMs: number
  readonly isConnected: boolean
  /** How long the oldest change that it lacks has been waiting; undefined: it lacks none. */
  readonly lagMs: number | undefined
}

interface Joined {
  readonly id: number
  readonly origin: FollowerOrigin
  readonly connectedAtMs: number
}

interface Left {
  readonly follower: Follower
  readonly leftAtMs: number
}

/** Those who have left are remembered, but not for ever. */
const [mostLeft, rememberedMs] = [5_000, 60 * 60_000]

export class Followers {
  readonly #clock: Clock
  readonly #open = new Map<OpenFollower, Joined>()
  /** By node, which comes back as another client. The oldest first. */
  readonly #left = new Map<string, Left>()
  readonly #revisions = new RevisionTimes()
  #lastId = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  revised(revision: number): void {
    this.#revisions.note(revision, this.#clock.now())
  }

  /** Returns the function that says that it has left. */
  joined(open: OpenFollower, origin: FollowerOrigin): () => void {
    const joined = { id: ++this.#lastId, origin, connectedAtMs: this.#clock.now() }
    this.#open.set(open, joined)
    return () => {
      if (this.#open.delete(open)) this.#remember(this.#shown(open, joined, false))
    }
  }

  /** Also those who have left, unless their node is back. */
  list(): readonly Follower[] {
    const open = [...this.#open].map(([each, joined]) => this.#shown(each, joined, true))
    const back = new Set(open.map(({ node }) => node))
    this.#forgetOld()
    const left = [...this.#left.values()].filter(({ follower }) => !back.has(follower.node))
    return [...open, ...left.map(({ follower }) => ({ ...follower, lagMs: this.#lagOf(follower.revision) }))]
  }

  #shown(open: OpenFollower, { id, origin, connectedAtMs }: Joined, isConnected: boolean): Follower {
    const { node, revision, lastContactMs } = open
    return {
      id,
      ...origin,
      connectedAtMs,
      isConnected,
      node,
      revision,
      lastContactMs,
      lagMs: this.#lagOf(revision),
    }
  }

  #lagOf(revision: number): number | undefined {
    const behindSince = this.#revisions.firstAfterMs(revision)
    return behindSince === undefined ? undefined : Math.max(0, this.#clock.now() - behindSince)
  }

  #remember(follower: Follower): void {
    if (follower.node === '') return
    this.#left.delete(follower.node)
    this.#left.set(follower.node, { follower, leftAtMs: this.#clock.now() })
    this.#forgetOld()
  }

  #forgetOld(): void {
    const tooOld = this.#clock.now() - rememberedMs
    for (const [node, { leftAtMs }] of this.#left) {
      if (this.#left.size <= mostLeft && leftAtMs > tooOld) return
      this.#left.delete(node)
    }
  }
}
