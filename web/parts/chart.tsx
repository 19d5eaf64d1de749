/** Numbers over the last minutes, on a canvas. What it shows is also said in words: above it, and to screen readers. */
import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { isDark } from '../shell/theme.ts'
import { timeOfDay } from './format.ts'
import 'uplot/dist/uPlot.min.css'
import './chart.css'

interface Line {
  readonly name: string
  /** `series-1`, … of base.css. */
  readonly colour: string
}

interface ChartProps {
  readonly title: string
  readonly lines: readonly Line[]
  /** Seconds, and the values of each line. */
  readonly data: readonly [times: number[], ...values: (number | null)[][]]
  /** In seconds: the edges. */
  readonly from: number
  readonly to: number
  readonly format: (value: number) => string
  /** What the scale reaches at least: of a quiet node, small numbers must not look like much. */
  readonly leastTop: number
  /** Single moments, with nothing between them. */
  readonly isDotted?: boolean
}

const height = 170

export function Chart({ title, lines, data, from, to, format, leastTop, isDotted = false }: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const pointedAt = useSignal<number | null>(null)
  const names = lines.map(({ name }) => name).join()
  const dark = isDark.value
  const shown = useRef({ lines, data, format, from, to, leastTop })
  shown.current = { lines, data, format, from, to, leastTop }

  useLayoutEffect(() => {
    const element = place.current
    if (element === null) return undefined
    const made = new uPlot(
      optionsFor(element, shown.current, isDotted, (index) => (pointedAt.value = index)),
      shown.current.data as uPlot.AlignedData,
      element,
    )
    plot.current = made
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      made.destroy()
      plot.current = undefined
    }
    // Colours and lines are what it is made of; numbers come later.
  }, [dark, isDotted, names, pointedAt])

  useEffect(() => {
    plot.current?.batch((drawn: uPlot) => {
      drawn.setData(data as uPlot.AlignedData, false)
      drawn.setScale('x', { min: from, max: to })
    })
  }, [data, from, to])

  const index = pointedAt.value ?? data[0].length - 1
  const at = data[0][index]
  const values = lines.map(({ name, colour }, line) => ({
    name,
    colour,
    value: lastKnown(data[line + 1] ?? [], index),
  }))
  const words = values
    .map(({ name, value }) => `${name} ${value === undefined ? 'not known' : format(value)}`)
    .join(', ')
  return (
    <section class="card chart">
      <div class="chart-head">
        <h2>{title}</h2>
        <p class="small">
          {values.map(({ name, colour, value }) => (
            <span key={name} class="chart-value">
              <span class="chart-key" style={{ background: `var(--${colour})` }} aria-hidden="true" />
              {lines.length > 1 && <span class="quiet">{name}</span>} {value === undefined ? '–' : format(value)}
            </span>
          ))}
          <span class="quiet">
            {pointedAt.value === null || at === undefined ? 'now' : timeOfDay(new Date(at * 1_000).toISOString())}
          </span>
        </p>
      </div>
      <div
        class="chart-place"
        ref={place}
        role="img"
        aria-label={`${title}, the last minutes. Now: ${words}`}
        style={{ height: `${height}px` }}
      />
    </section>
  )
}

function lastKnown(values: readonly (number | null)[], index: number): number | undefined {
  for (let at = index; at >= Math.max(0, index - 30); at--) {
    const value = values[at]
    if (value !== null && value !== undefined) return value
  }
  return undefined
}

function optionsFor(
  element: HTMLElement,
  { lines, format, from, to, leastTop }: Pick<ChartProps, 'lines' | 'format' | 'from' | 'to' | 'leastTop'>,
  isDotted: boolean,
  onPoint: (index: number | null) => void,
): uPlot.Options {
  const style = getComputedStyle(element)
  const font = `11px ${style.fontFamily}`
  const axis = { stroke: colour(element, 'ink-2'), font, ticks: { show: false }, border: { show: false } }
  const line = colour(element, 'line')
  return {
    width: element.clientWidth,
    height,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)] },
    scales: {
      x: { time: true, auto: false, min: from, max: to },
      y: { range: (_plot, _least, most) => [0, Math.max(leastTop, Number.isFinite(most) ? most * 1.15 : 0)] },
    },
    axes: [
      { ...axis, grid: { show: false }, space: 70, size: 24, values: (_plot, times) => times.map(clock) },
      {
        ...axis,
        grid: { stroke: line, width: 1 },
        size: 56,
        space: 34,
        values: (_plot, values) => values.map((value) => (value === 0 ? '0' : format(value))),
      },
    ],
    series: [
      {},
      ...lines.map(({ name, colour: wanted }) => {
        const stroke = colour(element, wanted)
        const points = { show: isDotted, size: 4, fill: stroke, width: 0 }
        return {
          label: name,
          stroke,
          width: isDotted ? 1 : 1.5,
          points,
          spanGaps: isDotted,
          ...(!isDotted && { fill: faint(stroke) }),
        }
      }),
    ],
  }
}

function clock(seconds: number): string {
  return timeOfDay(new Date(seconds * 1_000).toISOString()).slice(0, 5)
}

/** As the browser works it out: a canvas knows no `var()` and no `light-dark()`. */
function colour(element: HTMLElement, name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(--${name})`
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

function faint(rgb: string): string {
  return rgb.replace(/^rgb\((.*)\)$/, 'rgb($1 / 12%)').replaceAll(',', ' ')
}
