/** One line that says what a command is doing, while it does it. On a terminal only, and gone when the work is done. */
import type { Terminal } from './terminal.ts'

export interface Progress extends Disposable {
  /** What is done from now on. */
  step(label: string): void
  /** Makes room for other text; the line comes back below it. */
  makeRoom(): void
}

export const noProgress: Progress = { step() {}, makeRoom() {}, [Symbol.dispose]() {} }

const frames = ['|', '/', '-', '\\'] as const
const frameMs = 100
const clearLine = '\r\u001B[K'

export function showProgress(label: string, terminal: Terminal, write: (text: string) => void): Progress {
  if (terminal.columns === undefined) return noProgress
  const started = performance.now()
  let current = label
  let frame = 0
  let isOver = false
  const draw = () => {
    const seconds = Math.floor((performance.now() - started) / 1000)
    const line = `${frames[frame++ % frames.length] ?? ''} ${current}${seconds === 0 ? '' : ` (${seconds} s)`}`
    // The last column stays free: a line that is full would wrap, and could not be cleared.
    write(clearLine + line.slice(0, (terminal.columns ?? 80) - 1))
  }
  // Drawn at once: work that keeps the event loop busy would never let the timer do it.
  draw()
  const timer = setInterval(draw, frameMs).unref()
  return {
    step(next) {
      current = next
      draw()
    },
    makeRoom() {
      if (!isOver) write(clearLine)
    },
    [Symbol.dispose]() {
      if (isOver) return
      isOver = true
      clearInterval(timer)
      write(clearLine)
    },
  }
}
