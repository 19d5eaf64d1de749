/** All Services of the node: searched as you type, filtered, sorted, alive. */
import { useSignal } from '@preact/signals'
import { useCallback, useEffect, useRef } from 'preact/hooks'
import { count } from '../../parts/format.ts'
import { go, location, replace } from '../../shell/route.ts'
import { nextSort, questionIn, searchOf } from './question.ts'
import type { Question } from './question.ts'
import { SearchBar } from './search-bar.tsx'
import { ServiceGrid } from './service-grid.tsx'
import { useServices } from './use-services.ts'
import './services.css'

/** A browser forbids to change the address with every key. */
const writeAfterMs = 250

export function ServicesPage() {
  const services = useServices()
  const [question, ask, flush] = useQuestion(services.ask)
  const open = useCallback(
    (key: string) => {
      flush()
      go(`/services/${key.split('/').map(encodeURIComponent).join('/')}`)
    },
    [flush],
  )
  const { list, version } = services
  const drawn = version.value
  return (
    <div class="services">
      <SearchBar
        list={list}
        question={question}
        onAsk={ask}
        onEnter={() => document.getElementById('services-grid')?.focus()}
      />
      <Announcement text={list.isComplete ? found(list.shown.length, list.total) : ''} question={question} />
      <ServiceGrid
        services={services}
        version={drawn}
        question={question}
        onSort={(column) => ask({ ...question, sort: nextSort(question.sort, column) })}
        onOpen={open}
        onReset={() => ask(questionIn(new URLSearchParams()))}
      />
    </div>
  )
}

function found(shown: number, total: number): string {
  return shown === total ? count(total, 'Service') : `${count(shown, 'Service')} of ${total} found`
}

/** What is asked at once, and what stands in the address a little later. */
function useQuestion(answer: (question: Question) => void) {
  const question = useSignal(questionIn(location.peek().searchParams))
  const timer = useRef<number | undefined>(undefined)
  const flush = useCallback(() => {
    if (timer.current === undefined) return
    clearTimeout(timer.current)
    timer.current = undefined
    replace(`/services${searchOf(question.peek())}`)
  }, [question])
  const ask = useCallback(
    (next: Question) => {
      const start = performance.now()
      answer(next)
      question.value = next
      // After the rows are drawn: what the reader waits for is the screen.
      requestAnimationFrame(() => performance.measure('search', { start, detail: { text: next.text } }))
      clearTimeout(timer.current)
      timer.current = setTimeout(flush, writeAfterMs)
    },
    [answer, flush, question],
  )
  useEffect(() => () => clearTimeout(timer.current), [])
  // The reader went back or forth, or followed a link to another question.
  const { search, searchParams, pathname } = location.value
  useEffect(() => {
    if (pathname !== '/services' || timer.current !== undefined || search === searchOf(question.peek())) return
    const next = questionIn(searchParams)
    if (searchOf(next) === searchOf(question.peek())) return
    answer(next)
    question.value = next
  }, [answer, pathname, question, search, searchParams])
  return [question.value, ask, flush] as const
}

/** How many were found, for those who do not see it: after a question, not with every change in the cluster. */
function Announcement({ text, question }: { readonly text: string; readonly question: Question }) {
  const said = useSignal('')
  const latest = useRef(text)
  latest.current = text
  const isKnown = text !== ''
  useEffect(() => {
    const timer = setTimeout(() => (said.value = latest.current), 400)
    return () => clearTimeout(timer)
  }, [question, isKnown, said])
  return (
    <p class="visually-hidden" role="status">
      {said.value}
    </p>
  )
}
