/**
 * Keeps the list of Services up to date while the page is open. Changes are taken in as they come and shown once a frame;
 * the order is made anew at most once a second, and not while the reader has a hand on it.
 */
import { signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { about, follow } from '../../live/live.ts'
import { location } from '../../shell/route.ts'
import { questionIn } from './question.ts'
import type { Question } from './question.ts'
import { ServiceList } from './service-list.ts'

const reorderEveryMs = 1_000

export interface Services {
  readonly list: ServiceList
  /** Another number: there is something new to draw. */
  readonly version: { readonly value: number }
  readonly ask: (question: Question) => void
  /** The order is old because the reader has a hand on the list. */
  readonly isOrderWaiting: () => boolean
  /** The reader has a hand on the list: rows keep their places. */
  readonly hold: (isHeld: boolean) => void
}

/** Kept when the reader goes to a Service and comes back, until the new list is there. */
let kept: { readonly list: ServiceList; readonly process: string | undefined } | undefined

export function useServices(): Services {
  const [services, start] = useMemo(servicesHere, [])
  useEffect(() => start(), [start])
  return services
}

function servicesHere(): readonly [Services, start: () => () => void] {
  const question = questionIn(location.peek().searchParams)
  const process = about.peek()?.process
  const list = kept !== undefined && kept.process === process ? kept.list : new ServiceList(question)
  list.ask(question)
  kept = { list, process }

  const version = signal(0)
  let isHeld = false
  let frame: number | undefined
  let reorderTimer: ReturnType<typeof setTimeout> | undefined
  let reorderedAt = 0

  const draw = () => {
    frame = undefined
    const now = performance.now()
    const isDue = now - reorderedAt >= reorderEveryMs
    if (list.isOrderOld && !isHeld && !isDue) reorderTimer ??= setTimeout(reorder, reorderEveryMs - (now - reorderedAt))
    const mayReorder = !isHeld && isDue
    if (mayReorder && list.isOrderOld) reorderedAt = now
    list.settle({ mayReorder })
    version.value++
  }
  const drawSoon = () => {
    frame ??= requestAnimationFrame(draw)
  }
  const reorder = () => {
    reorderTimer = undefined
    drawSoon()
  }
  const services: Services = {
    list,
    version,
    isOrderWaiting: () => isHeld && list.isOrderOld,
    ask: (next) => {
      list.ask(next)
      version.value++
    },
    hold: (next) => {
      if (isHeld === next) return
      isHeld = next
      drawSoon()
    },
  }
  const start = () => {
    const end = follow('services', 'services', (change) => {
      list.apply(change)
      drawSoon()
    })
    return () => {
      end()
      clearTimeout(reorderTimer)
      if (frame !== undefined) cancelAnimationFrame(frame)
    }
  }
  return [services, start]
}
