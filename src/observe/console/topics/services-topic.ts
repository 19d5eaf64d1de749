/**
 * `services`: all of them as rows, then what changes. A row is made and serialised once for all who look. Whoever reads
 * slowly gets what they missed when they are ready again, and all of it once that would be less.
 */
import type { ObjectKey } from '../../../api/records.ts'
import { serviceOfRoute } from '../../../core/route.ts'
import type { RouteKey } from '../../../core/route.ts'
import type { LiveTopic, Viewer } from '../live-topic.ts'
import type { Beat } from './beat.ts'
import { nextTurn } from './next-turn.ts'
import type { NodeParts } from './node-parts.ts'
import type { PacedTraffic } from './paced-traffic.ts'
import type { ServiceChanges } from './service-changes.ts'
import { serviceRow } from './service-row.ts'
import { TrafficTexts } from './traffic-texts.ts'

/** In one message, and in one turn of the event loop. */
const chunkRows = 250
/** In one beat: where everything moves, all of it takes a few of them. */
const mostNumbers = 1_000
/** Who has missed more gets the list again. */
const mostMissed = 5_000
/** How soon somebody who reads slowly is looked after while the list is sent. */
const [shortestPauseMs, longestPauseMs] = [10, 500]

interface Follower {
  readonly viewer: Viewer
  readonly ended: AbortController
  /** Of the list that is being sent; undefined: none is. */
  unsent: Set<ObjectKey> | undefined
  /** What has changed since they were last sent something; undefined: they have it all. */
  missed: Set<ObjectKey> | 'too much' | undefined
  /** Of these only the numbers. However many they are, the list would be more. */
  readonly missedNumbers: Set<ObjectKey>
}

export interface ServicesTopicOptions extends Pick<NodeParts, 'catalog' | 'families' | 'notices' | 'clock' | 'log'> {
  readonly beat: Beat
  readonly changes: ServiceChanges
  readonly traffic: PacedTraffic
}

export class ServicesTopic implements LiveTopic {
  readonly name = 'services'
  readonly #options: ServicesTopicOptions
  readonly #followers = new Set<Follower>()
  #endings: readonly (() => void)[] = []
  /** Since the last beat. */
  #changed = new Set<ObjectKey>()
  /** Of these only the numbers. */
  readonly #changedNumbers = new Set<ObjectKey>()
  #numbers = new TrafficTexts()
  #failedRoutes: readonly ReadonlyMap<RouteKey, string>[] = []

  constructor(options: ServicesTopicOptions) {
    this.#options = options
  }

  follow(_rest: readonly string[], viewer: Viewer): Disposable {
    const follower: Follower = {
      viewer,
      ended: new AbortController(),
      unsent: undefined,
      missed: undefined,
      missedNumbers: new Set(),
    }
    this.#followers.add(follower)
    if (this.#followers.size === 1) this.#begin()
    this.#startList(follower)
    return {
      [Symbol.dispose]: () => {
        follower.ended.abort(ended)
        if (this.#followers.delete(follower) && this.#followers.size === 0) this.#end()
      },
    }
  }

  #begin(): void {
    const { beat, changes, families, traffic } = this.#options
    const numbers = (this.#numbers = new TrafficTexts())
    this.#failedRoutes = families.map((family) => family.failedRoutes())
    this.#endings = [
      changes.subscribe((service) => this.#changed.add(service)),
      traffic.subscribe((carried, signal) =>
        numbers.update(carried, signal, (service, isKnown) =>
          (isKnown ? this.#changedNumbers : this.#changed).add(service),
        ),
      ),
      beat.subscribe(() => this.#onBeat()),
    ]
  }

  #end(): void {
    for (const end of this.#endings) end()
    this.#endings = []
    this.#changed = new Set()
    this.#changedNumbers.clear()
    this.#numbers = new TrafficTexts()
    this.#failedRoutes = []
  }

  #onBeat(): void {
    this.#noteFailedRoutes()
    const changed = this.#changed
    this.#changed = new Set()
    const numbers = takeSome(this.#changedNumbers, changed)
    const rows = new RowTexts(this.#options, this.#numbers)
    let shared: string | undefined
    for (const follower of this.#followers) {
      const { viewer, missed, missedNumbers } = follower
      if (follower.unsent !== undefined || viewer.isBehind) addMissed(follower, changed, numbers)
      else if (missed === 'too much') this.#startList(follower)
      else if (missed !== undefined || missedNumbers.size > 0) {
        follower.missed = undefined
        const more = takeSome(missedNumbers, changed)
        viewer.sendText(
          'services',
          rows.change(new Set([...(missed ?? []), ...changed]), new Set([...numbers, ...more])),
        )
      } else if (changed.size + numbers.size > 0)
        viewer.sendText('services', (shared ??= rows.change(changed, numbers)))
    }
  }

  /** A data plane may refuse a route, or take it at last, although nothing else about the Service changes. */
  #noteFailedRoutes(): void {
    this.#failedRoutes = this.#options.families.map((family, index) => {
      const [before, now] = [this.#failedRoutes[index], family.failedRoutes()]
      if (before === now) return now
      for (const [key, why] of before ?? []) if (now.get(key) !== why) this.#changed.add(serviceOfRoute(key))
      for (const key of now.keys()) if (before?.has(key) !== true) this.#changed.add(serviceOfRoute(key))
      return now
    })
  }

  #startList(follower: Follower): void {
    follower.unsent = new Set(this.#options.catalog.services.keys())
    follower.missed = undefined
    follower.missedNumbers.clear()
    this.#list(follower).catch((error: unknown) => {
      if (!follower.ended.signal.aborted) this.#options.log.error('the console cannot list the Services', { error })
    })
  }

  /** What changes meanwhile is noted as missed. */
  async #list(follower: Follower): Promise<void> {
    const { viewer, ended, unsent = new Set() } = follower
    const keys = [...unsent]
    for (let from = 0; from === 0 || from < keys.length; from += chunkRows) {
      await this.#untilReady(follower)
      if (ended.signal.aborted) return
      const rows = new RowTexts(this.#options, this.#numbers)
      const texts = keys.slice(from, from + chunkRows).flatMap((key) => rows.of(key) ?? [])
      const flags = `${from === 0 ? '"isFirst":true,' : ''}${from + chunkRows < keys.length ? '"hasMore":true,' : ''}`
      viewer.sendText('services', `{${flags}"rows":[${texts.join()}]}`)
      for (const key of keys.slice(from, from + chunkRows)) unsent.delete(key)
    }
    follower.unsent = undefined
  }

  async #untilReady({ viewer, ended }: Follower): Promise<void> {
    await nextTurn()
    for (let pauseMs = shortestPauseMs; viewer.isBehind; pauseMs = Math.min(longestPauseMs, 2 * pauseMs))
      await this.#options.clock.sleep(pauseMs, ended.signal)
  }
}

/** What is in the list and was not sent yet will be sent as it is then. */
function addMissed(follower: Follower, changed: ReadonlySet<ObjectKey>, withNumbers: ReadonlySet<ObjectKey>): void {
  const { unsent, missedNumbers } = follower
  if (follower.missed === 'too much') return
  for (const service of withNumbers) if (unsent?.has(service) !== true) missedNumbers.add(service)
  const missed: Set<ObjectKey> = follower.missed ?? new Set()
  for (const service of changed) if (unsent?.has(service) !== true) missed.add(service)
  if (missed.size > 0) follower.missed = missed.size > mostMissed ? 'too much' : missed
}

/** A row that is sent has its numbers in it. */
function takeSome(numbers: Set<ObjectKey>, changed: ReadonlySet<ObjectKey>): ReadonlySet<ObjectKey> {
  const taken = new Set<ObjectKey>()
  for (const service of numbers) {
    if (taken.size === mostNumbers) break
    numbers.delete(service)
    if (!changed.has(service)) taken.add(service)
  }
  return taken
}

/** The rows of one moment: each is made once. */
class RowTexts {
  readonly #options: ServicesTopicOptions
  readonly #numbers: TrafficTexts
  readonly #texts = new Map<ObjectKey, string | undefined>()

  constructor(options: ServicesTopicOptions, numbers: TrafficTexts) {
    this.#options = options
    this.#numbers = numbers
  }

  /** Undefined: there is no such Service. */
  of(key: ObjectKey): string | undefined {
    if (this.#texts.has(key)) return this.#texts.get(key)
    const record = this.#options.catalog.services.get(key)
    const text = record && withTraffic(JSON.stringify(serviceRow(key, record, this.#options)), this.#numbers.of(key))
    this.#texts.set(key, text)
    return text
  }

  change(keys: ReadonlySet<ObjectKey>, withNumbers: ReadonlySet<ObjectKey>): string {
    const [rows, gone]: [string[], ObjectKey[]] = [[], []]
    for (const key of keys) {
      const text = this.of(key)
      if (text === undefined) gone.push(key)
      else rows.push(text)
    }
    const numbers = [...withNumbers].flatMap((key) => (keys.has(key) ? [] : (this.#numberText(key) ?? [])))
    const goneText = gone.length === 0 ? '' : `,"gone":${JSON.stringify(gone)}`
    const trafficText = numbers.length === 0 ? '' : `,"traffic":{${numbers.join()}}`
    return `{"rows":[${rows.join()}]${goneText}${trafficText}}`
  }

  #numberText(key: ObjectKey): string | undefined {
    const text = this.#numbers.of(key)
    return text === undefined ? undefined : `${JSON.stringify(key)}:${text}`
  }
}

function withTraffic(row: string, traffic: string | undefined): string {
  return traffic === undefined ? row : `${row.slice(0, -1)},"traffic":${traffic}}`
}

/** Without a reason of ours each would get an exception with a stack. */
const ended = 'ended'
