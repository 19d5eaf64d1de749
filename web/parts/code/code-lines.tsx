/** Many lines with their numbers, of which only those that are seen are drawn, and a search through all of them. */
import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { wholeNumber } from '../format.ts'
import { CodeLine } from './code-line.tsx'
import { matchingLines } from './matches.ts'
import { scrollTo, windowOf } from './window-of.ts'
import './code.css'

const lineHeight = 20

export function CodeLines({ label, text }: { readonly label: string; readonly text: string }) {
  const lines = useMemo(() => text.replace(/\n$/, '').split('\n'), [text])
  const longest = useMemo(() => lines.reduce((most, line) => Math.max(most, line.length), 0), [lines])
  const query = useSignal('')
  const current = useSignal(0)
  const view = useSignal({ scrollTop: 0, height: 800 })
  const box = useRef<HTMLDivElement>(null)
  const found = useMemo(() => matchingLines(lines, query.value), [lines, query.value])
  const line = found[current.value]

  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return undefined
    const look = () => (view.value = { scrollTop: element.scrollTop, height: element.clientHeight })
    look()
    const observer = new ResizeObserver(look)
    observer.observe(element)
    element.addEventListener('scroll', look, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', look)
    }
  }, [view])

  useEffect(() => {
    const top = line === undefined ? undefined : scrollTo(line, lineHeight, view.peek())
    if (top !== undefined) box.current?.scrollTo({ top })
  }, [line, view])

  const step = (by: number) => {
    if (found.length > 0) current.value = (current.value + by + found.length) % found.length
  }
  const { first, last } = windowOf(lines.length, lineHeight, view.value)
  return (
    <>
      <form
        class="code-search"
        role="search"
        onSubmit={(event) => {
          event.preventDefault()
          step(1)
        }}
      >
        <input
          class="field"
          type="search"
          aria-label={`Search in ${label}`}
          placeholder="Search: an address, a chain, a Service"
          autocomplete="off"
          spellcheck={false}
          value={query.value}
          onInput={({ currentTarget }) => {
            query.value = currentTarget.value
            current.value = 0
          }}
        />
        <button class="button" type="button" disabled={found.length === 0} onClick={() => step(-1)}>
          Previous
        </button>
        <button class="button" type="submit" disabled={found.length === 0}>
          Next
        </button>
        <span class="quiet small" role="status">
          {query.value === ''
            ? `${wholeNumber(lines.length)} lines`
            : found.length === 0
              ? 'not found'
              : `${wholeNumber(current.value + 1)} of ${wholeNumber(found.length)} lines`}
        </span>
      </form>
      <div ref={box} class="code-lines" role="region" aria-label={label} tabIndex={0}>
        <div
          class="code-lines-all"
          style={{ height: `${lines.length * lineHeight}px`, width: `calc(${longest}ch + 8rem)` }}
        >
          {lines.slice(first, last).map((content, index) => (
            <div
              key={first + index}
              class="code-row"
              data-number={first + index + 1}
              data-current={first + index === line || undefined}
              style={{ top: `${(first + index) * lineHeight}px` }}
            >
              <code>
                <CodeLine text={content} query={query.value} />
              </code>
            </div>
          ))}
        </div>
      </div>
    </>
  )
}
