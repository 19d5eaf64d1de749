/**
 * The stream of events from the server. A page names the topics that it shows; one stream carries them all. It comes back
 * by itself when it is lost, and rests while nobody sees the page.
 */
import { computed, signal } from '@preact/signals'
import { paths } from '../../src/observe/console/wire.ts'
import type { About, LiveEvents, Topic } from '../../src/observe/console/wire.ts'
import { EventStreamReader } from './event-stream.ts'

type Listener<Name extends keyof LiveEvents> = (data: LiveEvents[Name]) => void
type ConnectionState = 'connecting' | 'live' | 'lost' | 'resting' | 'login'

const state = signal<ConnectionState>('connecting')
const knownAbout = signal<About | undefined>(undefined)
const firstVersion = signal<string | undefined>(undefined)

export const connection = computed(() => state.value)
export const about = computed(() => knownAbout.value)
/** Why there is no connection, where the server said so. */
export const trouble = signal<string | undefined>(undefined)
/** This page comes from another version of Fairlead than what it shows. */
export const isOutdated = computed(() => knownAbout.value?.version !== firstVersion.value)

const wanted = new Map<Topic, number>()
const listeners = new Map<keyof LiveEvents, Set<(data: never) => void>>()
let attempt: AbortController | undefined
let isReopenDue = false
let retryAfterMs = 0
let retryTimer: ReturnType<typeof setTimeout> | undefined
let restTimer: ReturnType<typeof setTimeout> | undefined
let lastHeard = 0

const longestRetryMs = 2_000
/** The server says something every 15 s. After three times that, the other end is gone without a word, e.g. after sleep. */
const longestSilenceMs = 45_000
/** A hidden page is left alone after a while: a browser allows six connections to a server. */
const restAfterMs = 30_000

/** Returns the function that ends it. Every event begins with the whole of its topic, again after each loss. */
export function follow<Name extends keyof LiveEvents>(topic: Topic, name: Name, listener: Listener<Name>): () => void {
  wanted.set(topic, (wanted.get(topic) ?? 0) + 1)
  const set = listeners.get(name) ?? new Set()
  listeners.set(name, set.add(listener))
  reopenSoon()
  return () => {
    set.delete(listener)
    const left = (wanted.get(topic) ?? 1) - 1
    if (left > 0) wanted.set(topic, left)
    else wanted.delete(topic)
    reopenSoon()
  }
}

/** For a reader who does not want to wait, and for one who has just logged in. */
export function connectNow(): void {
  retryAfterMs = 0
  if (state.value !== 'live') state.value = 'connecting'
  open()
}

/** Says that the server wants to know who is there. */
export function requireLogin(): void {
  attempt?.abort()
  attempt = undefined
  clearTimeout(retryTimer)
  state.value = 'login'
}

/** What changes together, such as one page for another, makes one new stream. */
function reopenSoon(): void {
  if (isReopenDue) return
  isReopenDue = true
  queueMicrotask(() => {
    isReopenDue = false
    if (state.value !== 'login' && state.value !== 'resting') open()
  })
}

function open(): void {
  attempt?.abort()
  clearTimeout(retryTimer)
  const opened = new AbortController()
  attempt = opened
  void (async () => {
    const reason = await listen(opened).catch((error: unknown) =>
      error instanceof Refused ? error.message : undefined,
    )
    if (attempt === opened && state.value !== 'login') lost(reason)
  })()
}

/** Comes back when the stream is over. */
async function listen(opened: AbortController): Promise<undefined> {
  const query = [...wanted.keys()].map((topic) => `topic=${encodeURIComponent(topic)}`).join('&')
  heardSomething()
  const answer = await fetch(`${paths.live}?${query}`, { signal: opened.signal, cache: 'no-store' })
  if (answer.status === 401) return requireLogin() as undefined
  if (!answer.ok || answer.body === null) throw new Refused((await answer.text()).trim())
  const reader = new EventStreamReader()
  const pieces = answer.body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value } = await pieces.read()
    if (done || attempt !== opened) return undefined
    heardSomething()
    for (const { name, data } of reader.read(value)) hear(name as keyof LiveEvents, JSON.parse(data))
  }
}

class Refused extends Error {
  override readonly name = 'Refused'
}

function hear(name: keyof LiveEvents, data: unknown): void {
  if (name === 'about') {
    knownAbout.value = data as About
    firstVersion.value ??= (data as About).version
    trouble.value = undefined
    state.value = 'live'
    retryAfterMs = 0
  }
  for (const listener of listeners.get(name) ?? []) listener(data as never)
}

function lost(reason: string | undefined): void {
  attempt = undefined
  state.value = 'lost'
  trouble.value = reason
  retryAfterMs = Math.min(longestRetryMs, retryAfterMs === 0 ? 250 : retryAfterMs * 2)
  retryTimer = setTimeout(open, retryAfterMs)
}

function heardSomething(): void {
  lastHeard = performance.now()
}

setInterval(() => {
  if (attempt !== undefined && performance.now() - lastHeard > longestSilenceMs) attempt.abort()
}, 5_000)

globalThis.addEventListener('online', () => state.value === 'lost' && connectNow())

document.addEventListener('visibilitychange', () => {
  clearTimeout(restTimer)
  if (!document.hidden) {
    if (state.value === 'resting' || state.value === 'lost') connectNow()
    return
  }
  if (state.value !== 'login') restTimer = setTimeout(rest, restAfterMs)
})

function rest(): void {
  attempt?.abort()
  attempt = undefined
  clearTimeout(retryTimer)
  state.value = 'resting'
}
