/** The list: as many rows as it takes, of which those on the screen are drawn. One focus for all; keys move within it. */
import { useSignal } from '@preact/signals'
import type { TargetedKeyboardEvent } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { ServiceRow } from '../../../src/observe/console/wire.ts'
import { Empty } from '../../parts/empty.tsx'
import { count, wholeNumber } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { rowAfterKey, rowsIn, topToShow } from '../../parts/row-window.ts'
import { cellOf, columnTitles } from './columns.tsx'
import { columns } from './question.ts'
import type { Column, Question } from './question.ts'
import type { Entry, ServiceList } from './service-list.ts'
import type { Services } from './use-services.ts'

interface ServiceGridProps {
  readonly services: Services
  /** Of what the list holds: another one is drawn anew. */
  readonly version: number
  readonly question: Question
  readonly onSort: (column: Column) => void
  readonly onOpen: (key: string) => void
  readonly onReset: () => void
}

/** A list that is not wide leaves some columns out; on a phone a row is a card. */
const shapes = [
  { name: 'cards', below: 640, rowHeight: 86, headHeight: 0 },
  { name: 'tighter', below: 860, rowHeight: 36, headHeight: 34 },
  { name: 'tight', below: 1_160, rowHeight: 36, headHeight: 34 },
  { name: 'wide', below: Infinity, rowHeight: 36, headHeight: 34 },
] as const

export function ServiceGrid({ services, question, onSort, onOpen, onReset }: ServiceGridProps) {
  const { list } = services
  const { shown } = list
  const scroller = useRef<HTMLDivElement>(null)
  const size = useSize(scroller)
  const shape = shapes.find(({ below }) => size.width < below) ?? shapes[3]
  const { rowHeight } = shape
  const height = size.height - shape.headHeight
  const top = useSignal(0)
  const active = useSignal<string | undefined>(undefined)
  const hasFocus = useSignal(false)

  // What stood on the screen stays where it is when rows come or go above it.
  const anchor = useRef<{ readonly key: string; readonly index: number } | undefined>(undefined)
  useLayoutEffect(() => {
    const { key, index } = anchor.current ?? {}
    const element = scroller.current
    if (key === undefined || index === undefined || element === null || element.scrollTop === 0) return
    if (shown[index]?.row.key === key) return
    const now = shown.findIndex(({ row }) => row.key === key)
    if (now >= 0) element.scrollTop += (now - index) * rowHeight
  }, [shown, rowHeight])
  // Another question begins at its top.
  const asked = useRef(question)
  useLayoutEffect(() => {
    if (asked.current === question) return
    asked.current = question
    active.value = undefined
    if (scroller.current !== null) scroller.current.scrollTop = 0
    top.value = 0
  }, [active, question, top])

  const [first, end] = rowsIn({ top: top.value, height }, rowHeight, shown.length)
  const activeIndex = active.value === undefined ? -1 : indexOf(active.value, shown, first, end)
  const firstSeen = Math.ceil(top.value / rowHeight)
  const anchored = activeIndex >= first && activeIndex < end ? activeIndex : firstSeen
  const anchoredRow = shown[anchored]
  anchor.current = anchoredRow === undefined ? undefined : { key: anchoredRow.row.key, index: anchored }

  const moveTo = (index: number) => {
    const element = scroller.current
    if (element === null) return
    active.value = shown[index]?.row.key
    element.scrollTop = topToShow(index, { top: element.scrollTop, height }, rowHeight)
  }
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    // The heads of the columns have keys of their own.
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === 'Enter' && active.value !== undefined) {
      event.preventDefault()
      onOpen(active.value)
      return
    }
    const from = active.value === undefined ? firstSeen - 1 : shown.findIndex(({ row }) => row.key === active.value)
    const index = rowAfterKey(event.key, from, Math.floor(height / rowHeight), shown.length)
    if (index === undefined) return
    event.preventDefault()
    moveTo(index)
  }

  const isActiveDrawn = activeIndex >= first && activeIndex < end
  return (
    <div class="service-grid card" data-shape={shape.name}>
      <p class="grid-status small quiet">
        <span>{statusOf(list)}</span>
        <span>{services.isOrderWaiting() ? 'The order waits while you are in the list' : ''}</span>
      </p>
      <div
        id="services-grid"
        class="grid"
        role="grid"
        aria-label="Services"
        aria-rowcount={shown.length + 1}
        aria-busy={!list.isComplete}
        aria-activedescendant={isActiveDrawn ? rowId(activeIndex) : undefined}
        tabIndex={0}
        ref={scroller}
        onKeyDown={onKeyDown}
        onScroll={({ currentTarget }) => (top.value = currentTarget.scrollTop)}
        onFocus={() => {
          hasFocus.value = true
          services.hold(true)
          if (activeIndex < 0) active.value = shown[firstSeen]?.row.key
        }}
        onBlur={() => {
          hasFocus.value = false
          services.hold(false)
        }}
      >
        <div class="grid-head" role="rowgroup">
          <div class="grid-row" role="row" aria-rowindex={1}>
            {columns.map((column) => (
              <Head key={column} column={column} question={question} onSort={onSort} />
            ))}
          </div>
        </div>
        <div
          class="grid-body"
          role="rowgroup"
          style={{ height: `${shown.length * rowHeight}px` }}
          onPointerEnter={() => services.hold(true)}
          onPointerLeave={() => services.hold(hasFocus.peek())}
        >
          {shown.slice(first, end).map((entry, offset) => (
            <Row
              key={entry.row.key}
              entry={entry}
              row={entry.row}
              index={first + offset}
              rowHeight={rowHeight}
              isActive={hasFocus.value && first + offset === activeIndex}
              onOpen={onOpen}
            />
          ))}
        </div>
        {list.isComplete && shown.length === 0 && <Nothing isAll={list.total === 0} onReset={onReset} />}
      </div>
    </div>
  )
}

function statusOf({ isComplete, coming, shown, total }: ServiceList): string {
  if (!isComplete) return coming === 0 ? 'Waiting for the Services' : `${count(coming, 'Service')} so far`
  return shown.length === total ? count(total, 'Service') : `${wholeNumber(shown.length)} of ${count(total, 'Service')}`
}

interface HeadProps extends Pick<ServiceGridProps, 'question' | 'onSort'> {
  readonly column: Column
}

function Head({ column, question: { sort }, onSort }: HeadProps) {
  const isSorted = sort.column === column
  const order = sort.isDescending ? 'descending' : 'ascending'
  return (
    <div role="columnheader" data-column={column} aria-sort={isSorted ? order : undefined}>
      <button type="button" onClick={() => onSort(column)}>
        {columnTitles[column]}
        {isSorted && <Icon name={sort.isDescending ? 'down' : 'up'} />}
      </button>
    </div>
  )
}

interface RowProps extends Pick<ServiceGridProps, 'onOpen'> {
  readonly entry: Entry
  /** Of the entry, as it is now. */
  readonly row: ServiceRow
  readonly index: number
  readonly rowHeight: number
  readonly isActive: boolean
}

/**
 * Not kept with useMemo: an element that is handed out again keeps its first parents alive, and with them all rows that were
 * ever on the screen (seen with Preact 11.2).
 */
function Row({ entry, row, index, rowHeight, isActive, onOpen }: RowProps) {
  return (
    <div
      id={rowId(index)}
      class="grid-row"
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isActive}
      style={{ transform: `translateY(${index * rowHeight}px)` }}
      onClick={({ target }) => {
        const isLink = target instanceof Element && target.closest('a') !== null
        // Somebody may be marking an address to copy it.
        if (!isLink && (getSelection()?.toString() ?? '') === '') onOpen(row.key)
      }}
    >
      {columns.map((column) => (
        <div key={column} role={column === 'name' ? 'rowheader' : 'gridcell'} data-column={column}>
          {cellOf(column, row, entry)}
        </div>
      ))}
    </div>
  )
}

function Nothing({ isAll, onReset }: { readonly isAll: boolean; readonly onReset: () => void }) {
  if (isAll) return <Empty icon="services">This node knows no Service yet.</Empty>
  return (
    <Empty icon="search">
      <p>No Service is like this.</p>
      <button class="button" type="button" onClick={onReset}>
        Show all
      </button>
    </Empty>
  )
}

function rowId(index: number): string {
  return `service-row-${index}`
}

/** Most often it is among those on the screen. */
function indexOf(key: string, shown: readonly Entry[], first: number, end: number): number {
  for (let index = first; index < end; index++) if (shown[index]?.row.key === key) return index
  return shown.findIndex(({ row }) => row.key === key)
}

/** Of what the list has for its rows. */
function useSize(element: { readonly current: HTMLElement | null }): {
  readonly width: number
  readonly height: number
} {
  const size = useSignal({ width: 1_000, height: 0 })
  useLayoutEffect(() => {
    const { current } = element
    if (current === null) return undefined
    const measure = () => (size.value = { width: current.clientWidth, height: current.clientHeight })
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(current)
    return () => observer.disconnect()
  }, [element, size])
  return size.value
}
