/** The syncs that a proxy remembers: a line each, and what caused one of them. */
import type { ShownSync } from '../../observe/tracing/shown-sync.ts'
import { renderTable } from '../table.ts'
import { paint } from '../terminal.ts'
import type { Terminal } from '../terminal.ts'
import { shownDuration } from './shown-duration.ts'

const header = ['#', 'STARTED', 'WAITED', 'TOOK', 'FAMILY', 'TRIGGER', 'CHANGES', 'CAUSE']

export function renderSyncTable(syncs: readonly ShownSync[], terminal: Terminal): string {
  const rows = syncs.map((sync, index) => row(sync, String(index + 1)))
  const [head = '', ...lines] = renderTable(header, rows, terminal.columns).split('\n')
  return [paint(terminal, 'bold', head), ...lines].join('\n')
}

/** While syncs are followed: no number, because the next one would change it. */
export function renderSyncLine(sync: ShownSync): string {
  const [, ...cells] = row(sync, '')
  return `${cells.join('  ')}\n`
}

function row(sync: ShownSync, number: string): readonly string[] {
  const { startedAt, durationMs, family, trigger, trace, error } = sync
  const changes = trace.attributes['changes']
  return [
    number,
    clockTime(startedAt),
    longestWait(sync),
    shownDuration(durationMs),
    family,
    trigger,
    changes === undefined ? '' : String(changes),
    error === undefined ? causeOf(sync) : `failed: ${error.replaceAll(/\s+/g, ' ')}`,
  ]
}

function causeOf({ events, moreEvents }: ShownSync): string {
  const [first] = events
  if (first === undefined) return ''
  const more = events.length - 1 + moreEvents
  return `${first.event} ${first.object}${more === 0 ? '' : `, ${more} more`}`
}

/** Of the changes that it programs: a long wait before a short sync is no fault of the sync. */
function longestWait({ events }: ShownSync): string {
  return events.length === 0 ? '' : shownDuration(Math.max(...events.map(({ waitedMs }) => waitedMs)))
}

/** What came before the sync, above its picture. */
export function renderCauses({ events, moreEvents }: ShownSync): string {
  const lines = events.map(({ event, object, resourceVersion, waitedMs }) => {
    const version = resourceVersion === '' ? '' : ` (version ${resourceVersion})`
    return `caused by ${event} ${object}${version}, ${shownDuration(waitedMs)} before\n`
  })
  return moreEvents === 0 ? lines.join('') : `${lines.join('')}and by ${moreEvents} more\n`
}

export function renderSyncTitle({ startedAt, durationMs, mode, family, trace }: ShownSync): string {
  return `${trace.name} ${mode} ${family}, ${startedAt}, ${shownDuration(durationMs)}, trace ${trace.context.traceId}\n`
}

/** The date is the same for all that a proxy remembers, or nearly. */
function clockTime(iso: string): string {
  return iso.slice(11, 23)
}
