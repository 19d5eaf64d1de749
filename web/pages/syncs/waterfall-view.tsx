/** The parts of a sync on one scale of time. Arrow keys walk through it; what is known of a part is below. */
import { useSignal } from '@preact/signals'
import { useMemo, useRef } from 'preact/hooks'
import type { SpanRecord } from '../../../src/core/trace.ts'
import { duration } from '../../parts/format.ts'
import { stepFor, ticksFor, waterfallRows } from './waterfall.ts'
import type { WaterfallRow } from './waterfall.ts'

export function Waterfall({ root }: { readonly root: SpanRecord }) {
  const closed = useSignal<ReadonlySet<string>>(new Set())
  const current = useSignal(root.context.spanId)
  const grid = useRef<HTMLDivElement>(null)
  const rows = useMemo(() => waterfallRows(root, closed.value), [root, closed.value])
  const selected = rows.find(({ id }) => id === current.value) ?? rows[0]

  const select = (id: string) => {
    current.value = id
    grid.current?.querySelector<HTMLElement>(`[data-id="${id}"]`)?.focus()
  }
  const setClosed = (id: string, isClosed: boolean) => {
    const next = new Set(closed.value)
    if (isClosed) next.add(id)
    else next.delete(id)
    closed.value = next
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = stepFor(rows, current.value, event.key)
    if (step === undefined) return
    event.preventDefault()
    if (step.kind === 'to') select(step.id)
    else setClosed(step.id, step.kind === 'close')
  }
  return (
    <section class="card" aria-labelledby="waterfall-of">
      <h2 id="waterfall-of">Where the time went</h2>
      <div class="waterfall" role="treegrid" aria-labelledby="waterfall-of" ref={grid} onKeyDown={onKeyDown}>
        <div class="waterfall-row waterfall-head" role="row">
          <span role="columnheader">Part</span>
          <span role="columnheader" class="num">
            Took
          </span>
          <span role="columnheader" aria-label="Bar" class="waterfall-scale">
            <Scale wholeMs={root.durationMs} />
          </span>
        </div>
        {rows.map((row) => (
          <Row
            key={row.id}
            row={row}
            isCurrent={row.id === selected?.id}
            onSelect={() => select(row.id)}
            onToggle={() => setClosed(row.id, row.isOpen)}
          />
        ))}
      </div>
      {selected !== undefined && <Details span={selected.span} />}
    </section>
  )
}

function Scale({ wholeMs }: { readonly wholeMs: number }) {
  return (
    <>
      {ticksFor(wholeMs).map((ms) => (
        <i key={ms} style={{ left: `${wholeMs > 0 ? (ms / wholeMs) * 100 : 0}%` }}>
          {ms === 0 ? '0' : duration(ms)}
        </i>
      ))}
    </>
  )
}

interface RowProps {
  readonly row: WaterfallRow
  readonly isCurrent: boolean
  readonly onSelect: () => void
  readonly onToggle: () => void
}

function Row({ row, isCurrent, onSelect, onToggle }: RowProps) {
  const { id, span, level, place, siblings, hasChildren, isOpen, start, length } = row
  return (
    <div
      class="waterfall-row"
      role="row"
      data-id={id}
      data-failed={span.error !== undefined || undefined}
      tabIndex={isCurrent ? 0 : -1}
      aria-level={level}
      aria-posinset={place}
      aria-setsize={siblings}
      aria-expanded={hasChildren ? isOpen : undefined}
      aria-selected={isCurrent}
      onClick={onSelect}
    >
      <span role="gridcell" class="waterfall-name" style={{ paddingLeft: `${(level - 1) * 0.9}rem` }}>
        <span
          class="waterfall-toggle"
          aria-hidden="true"
          onClick={(event) => {
            event.stopPropagation()
            if (hasChildren) onToggle()
          }}
        >
          {hasChildren ? (isOpen ? '▾' : '▸') : ''}
        </span>
        <span class="cut" title={span.name}>
          {span.name}
        </span>
        {span.error !== undefined && <strong class="sync-failed">failed</strong>}
      </span>
      <span role="gridcell" class="num">
        {duration(span.durationMs)}
      </span>
      <span role="gridcell" class="waterfall-track">
        <i style={{ left: `${start * 100}%`, width: `${length * 100}%` }} />
      </span>
    </div>
  )
}

function Details({ span }: { readonly span: SpanRecord }) {
  const attributes = Object.entries(span.attributes)
  return (
    <div class="span-details" aria-live="polite">
      <h3>{span.name}</h3>
      {span.error !== undefined && <p class="sync-failed breaks">{span.error}</p>}
      {attributes.length === 0 ? (
        <p class="quiet small">It has no attributes.</p>
      ) : (
        <dl class="facts small">
          {attributes.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{typeof value === 'object' ? value.join(', ') : String(value)}</dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  )
}
