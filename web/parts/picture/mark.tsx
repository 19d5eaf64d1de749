/** The state of something as a shape: full, half, empty, crossed. Its colour only repeats it. */
import type { Mark } from './graph.ts'

interface MarkProps {
  readonly mark: Mark
  readonly x: number
  readonly y: number
}

export function MarkShape({ mark, x, y }: MarkProps) {
  return (
    <g class="state-mark" data-mark={mark} transform={`translate(${x} ${y})`}>
      {shapes[mark]}
    </g>
  )
}

/** Beside words, e.g. in a table. The words say it; this is for the eye. */
export function MarkIcon({ mark }: { readonly mark: Mark }) {
  return (
    <svg class="mark-icon" width="14" height="14" viewBox="-7 -7 14 14" aria-hidden="true">
      <MarkShape mark={mark} x={0} y={0} />
    </svg>
  )
}

const ring = <circle class="mark-line" r="5" />
const cross = <path class="mark-line" d="M-4.5 -4.5L4.5 4.5M4.5 -4.5L-4.5 4.5" />

const shapes = {
  ready: <circle class="mark-fill" r="5.5" />,
  'not ready': ring,
  'terminating, still serving': (
    <>
      {ring}
      <path class="mark-fill" d="M0 -5A5 5 0 0 1 0 5Z" />
    </>
  ),
  terminating: cross,
  reject: (
    <>
      {ring}
      <path class="mark-line" d="M-3.5 3.5L3.5 -3.5" />
    </>
  ),
  drop: cross,
  untouched: <path class="mark-line" d="M-5 0H4M1 -3.5L5 0L1 3.5" />,
  more: (
    <>
      <circle class="mark-fill" cx="-5" r="1.6" />
      <circle class="mark-fill" r="1.6" />
      <circle class="mark-fill" cx="5" r="1.6" />
    </>
  ),
} satisfies Record<Mark, unknown>
