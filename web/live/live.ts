/**
 * The stream of events from the server. A page names the topics that it shows; one stream carries them all. It comes back
 * by itself when it is lost, and rests while nobody sees the page.
 */
import { computed, signal } from '@preact/signals'
import { paths } from '../../src/observe/console/wire.ts'
import type { About, LiveEvents, Topic } from '../../src/observe/console/wire.ts'

type Listener<Name extends keyof LiveEvents> = (data: LiveEvents[Name]) => void

export const about = signal<About | undefined>(undefined)
const state = signal<'connecting' | 'live' | 'lost' | 'resting'>('connecting')
export const connection = computed(() => state.value)

const wanted = new Map<Topic, number>()
const listeners = new Map<keyof LiveEvents, Set<(data: never) => void>>()
let stream: EventSource | undefined
let isReopenDue = false
let retryAfterMs = 0
let restTimer: ReturnType<typeof setTimeout> | undefined

const longestRetryMs = 5_000
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

/** What changes together, such as one page for another, makes one new stream. */
function reopenSoon(): void {
  if (isReopenDue) return
  isReopenDue = true
  queueMicrotask(() => {
    isReopenDue = false
    open()
  })
}

function open(): void {
  stream?.close()
  const query = [...wanted.keys()].map((topic) => `topic=${encodeURIComponent(topic)}`).join('&')
  const opened = new EventSource(`${paths.live}?${query}`)
  stream = opened
  const names: readonly (keyof LiveEvents)[] = ['about', 'overview', 'services', 'service', 'syncs', 'nodes', 'demo']
  for (const name of names)
    opened.addEventListener(name, ({ data }: MessageEvent<string>) => {
      const value: unknown = JSON.parse(data)
      if (name === 'about') heard(value as About)
      for (const listener of listeners.get(name) ?? []) listener(value as never)
    })
  opened.addEventListener('error', () => {
    if (stream !== opened) return
    // The browser itself would give up after some answers, such as 503 of a proxy.
    opened.close()
    state.value = 'lost'
    retryAfterMs = Math.min(longestRetryMs, retryAfterMs === 0 ? 250 : retryAfterMs * 2)
    setTimeout(() => stream === opened && open(), retryAfterMs)
  })
}

function heard(value: About): void {
  about.value = value
  state.value = 'live'
  retryAfterMs = 0
}

document.addEventListener('visibilitychange', () => {
  clearTimeout(restTimer)
  if (!document.hidden) {
    if (state.value === 'resting') open()
    return
  }
  restTimer = setTimeout(() => {
    stream?.close()
    stream = undefined
    state.value = 'resting'
  }, restAfterMs)
})
