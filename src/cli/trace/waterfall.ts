/** One sync as a picture in text: a line per span, its bar where it was within the whole. */
import type { SpanRecord } from '../../core/trace.ts'
import { breakWords } from '../../config/flags/break-words.ts'
import { paint } from '../terminal.ts'
import type { Terminal } from '../terminal.ts'
import { shownDuration } from './shown-duration.ts'

export interface WaterfallOptions {
  readonly terminal: Terminal
  readonly showsAttributes: boolean
  /** What bars are made of. */
  readonly bar: string
}

/** Where nobody says how wide a line may be. */
const plainWidth = 100
const narrowestBar = 10
/** Of the names, indented; a longer one is cut. */
const widestNames = 44
const gap = '  '

interface Line {
  readonly span: SpanRecord
  readonly name: string
}

export function renderWaterfall(root: SpanRecord, options: WaterfallOptions): string {
  const { terminal, bar } = options
  const width = terminal.columns ?? plainWidth
  const lines = [...linesOf(root)]
  const nameWidth = Math.min(widestNames, Math.max(...lines.map(({ name }) => name.length)))
  const timeWidth = Math.max(...lines.map(({ span }) => shownDuration(span.durationMs).length))
  const barWidth = width - nameWidth - timeWidth - 2 * gap.length
  return lines
    .flatMap(({ span, name }) => {
      const label = fitted(name, nameWidth)
      const shown = span.error === undefined ? label : paint(terminal, 'red', label)
      const time = shownDuration(span.durationMs).padStart(timeWidth)
      const picture = barWidth < narrowestBar ? '' : barOf(span, root, barWidth, bar)
      const indent = `${/^ */.exec(name)?.[0] ?? ''}${gap}`
      return [`${shown}${gap}${time}${gap}${picture}`.trimEnd(), ...notes(span, options, indent, width)]
    })
    .map((line) => `${line}\n`)
    .join('')
}

function* linesOf(span: SpanRecord, depth = 0): Generator<Line> {
  yield { span, name: `${gap.repeat(depth)}${span.name}` }
  for (const child of span.children) yield* linesOf(child, depth + 1)
}

/** What went wrong, and on request everything that is known about the span. */
function notes(
  { error, attributes }: SpanRecord,
  { terminal, showsAttributes }: WaterfallOptions,
  indent: string,
  width: number,
): readonly string[] {
  const texts = showsAttributes
    ? [
        Object.entries(attributes)
          .map(([name, value]) => `${name}=${oneLine(value)}`)
          .join(' '),
      ]
    : []
  const failed = error === undefined ? [] : [`failed: ${oneLine(error)}`]
  return [...failed.map((text) => paint(terminal, 'red', text)), ...texts]
    .filter((text) => text !== '')
    .flatMap((text) => breakWords(text, Math.max(20, width - indent.length)).map((line) => `${indent}${line}`))
}

function oneLine(value: unknown): string {
  return String(value).replaceAll(/\s+/g, ' ')
}

function fitted(text: string, width: number): string {
  return text.length <= width ? text.padEnd(width) : `${text.slice(0, width - 1)}…`
}

/** At least one character, however short the span is. */
function barOf({ startMs, durationMs }: SpanRecord, root: SpanRecord, width: number, bar: string): string {
  const scale = root.durationMs > 0 ? width / root.durationMs : 0
  const start = Math.min(width - 1, Math.max(0, Math.floor((startMs - root.startMs) * scale)))
  const length = Math.min(width - start, Math.max(1, Math.round(durationMs * scale)))
  return ' '.repeat(start) + bar.repeat(length)
}
