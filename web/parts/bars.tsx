/** A row of small bars, newest at the right. Words beside it say the same. */
import { heights } from './bar-heights.ts'
import type { Bar } from './bar-heights.ts'

interface BarsProps {
  readonly bars: readonly Bar[]
  /** How many there is room for. */
  readonly room: number
}

const height = 24
const step = 3

export function Bars({ bars, room }: BarsProps) {
  const start = (room - bars.length) * step
  return (
    <svg class="bars" viewBox={`0 0 ${room * step} ${height}`} width={room * step} height={height} aria-hidden="true">
      {heights(bars, height).map((size, index) => (
        <rect
          key={index}
          x={start + index * step}
          y={height - size}
          width={step - 1}
          height={size}
          data-bad={bars[index]?.isBad === true ? '' : undefined}
        />
      ))}
    </svg>
  )
}
