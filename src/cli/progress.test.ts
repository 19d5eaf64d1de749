import { expect, test } from 'vitest'
import { noProgress, showProgress } from './progress.ts'
import { noTerminal } from './terminal.ts'

const terminal = { columns: 20, hasColour: true }

test('the line is there at once, follows the steps, fits the terminal and is gone in the end', () => {
  const written: string[] = []
  {
    using progress = showProgress('reading', terminal, (text) => written.push(text))
    progress.step('writing more than the terminal is wide')
  }
  expect(written).toEqual(['\r\u001B[K| reading', '\r\u001B[K/ writing more than', '\r\u001B[K'])
})

test('other text gets a line of its own, and after the end nothing is written any more', () => {
  const written: string[] = []
  const progress = showProgress('reading', terminal, (text) => written.push(text))
  progress.makeRoom()
  progress[Symbol.dispose]()
  progress[Symbol.dispose]()
  progress.makeRoom()
  expect(written).toEqual(['\r\u001B[K| reading', '\r\u001B[K', '\r\u001B[K'])
})

test('without a terminal nothing is shown', () => {
  const write = () => expect.unreachable()
  expect(showProgress('reading', noTerminal, write)).toBe(noProgress)
})
