/** Questions to the pages below `/debug/`: an answer, or a sentence that says why there is none. */
import { useSignal } from '@preact/signals'
import { useCallback, useEffect, useRef } from 'preact/hooks'
import { paths } from '../../src/observe/console/wire.ts'
import { requireLogin } from './live.ts'

export type Asked<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string; readonly status: number }

export type Query = Readonly<Record<string, string | undefined>>

/** `syncs`, `{ limit: '20' }` → `/debug/syncs?limit=20`; what is undefined is left out. */
export function debugUrl(page: string, query: Query = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
  const text = new URLSearchParams(given).toString()
  return `${paths.debug}${page}${text === '' ? '' : `?${text}`}`
}

export async function askJson<T>(page: string, query: Query, signal: AbortSignal): Promise<Asked<T>> {
  const answer = await askText(page, { ...query, pretty: 'false' }, signal)
  return answer.ok ? { ok: true, value: JSON.parse(answer.value) as T } : answer
}

export async function askText(page: string, query: Query, signal: AbortSignal): Promise<Asked<string>> {
  try {
    const answer = await fetch(debugUrl(page, query), { signal, cache: 'no-store' })
    const text = await answer.text()
    if (answer.ok) return { ok: true, value: text }
    if (answer.status === 401) requireLogin()
    return { ok: false, status: answer.status, problem: text.trim() || `The server answered ${answer.status}.` }
  } catch (error) {
    if (signal.aborted) throw error
    return { ok: false, status: 0, problem: 'The server does not answer.' }
  }
}

export interface Asking<T> {
  /** The last one, also while the next is under way. */
  readonly answer: Asked<T> | undefined
  readonly isUnderWay: boolean
  readonly again: () => void
}

/** Asks when the page shows it, again when `about` changes, and not at all without one. The last question wins. */
export function useAsked<T>(about: string | undefined, ask: (signal: AbortSignal) => Promise<Asked<T>>): Asking<T> {
  const answer = useSignal<Asked<T> | undefined>(undefined)
  const isUnderWay = useSignal(false)
  const turn = useRef<AbortController>(undefined)
  const latest = useRef(ask)
  latest.current = ask
  const again = useCallback(() => {
    turn.current?.abort()
    const own = new AbortController()
    turn.current = own
    isUnderWay.value = true
    void (async () => {
      try {
        const value = await latest.current(own.signal)
        if (turn.current === own) answer.value = value
      } catch (error) {
        // Nobody waits for it any more.
        if (!own.signal.aborted) throw error
      } finally {
        if (turn.current === own) isUnderWay.value = false
      }
    })()
  }, [answer, isUnderWay])
  useEffect(() => {
    answer.value = undefined
    if (about !== undefined) again()
    return () => turn.current?.abort()
  }, [about, again, answer])
  return { answer: answer.value, isUnderWay: isUnderWay.value, again }
}
