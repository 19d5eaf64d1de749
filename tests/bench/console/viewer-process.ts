/**
 * `node viewer-process.js SOCKET TOPIC…`: somebody who looks. Says `listed` once all Services have come, and at the end of
 * its input what it got, as one line of JSON.
 */
import { request } from 'node:http'
import type { ServicesChange } from '../../../src/observe/console/wire.ts'

export interface SeenByViewer {
  readonly messages: number
  readonly bytes: number
  /** Unix milliseconds at which a row first came after the list, by its key. */
  readonly seenAtMs: Readonly<Record<string, number>>
}

const [, , socketPath = '', ...topics] = process.argv
const path = `/api/live?${topics.map((topic) => `topic=${encodeURIComponent(topic)}`).join('&')}`
const seenAtMs = new Map<string, number>()
let [messages, bytes, isListed, rest] = [0, 0, false, '']

request({ socketPath, path }, (response) => {
  response.setEncoding('utf8')
  response.on('data', (text: string) => {
    const parts = `${rest}${text}`.split('\n\n')
    rest = parts.pop() ?? ''
    for (const part of parts) take(part)
  })
}).end()

process.stdin.resume()
process.stdin.on('end', () => {
  const seen: SeenByViewer = { messages, bytes, seenAtMs: Object.fromEntries(seenAtMs) }
  process.stdout.write(`${JSON.stringify(seen)}\n`, () => process.exit(0))
})

function take(part: string): void {
  const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(part) ?? []
  if (name === undefined || data === undefined) return
  if (isListed) {
    messages++
    bytes += Buffer.byteLength(part) + 2
  }
  if (name !== 'services') return
  const change = JSON.parse(data) as ServicesChange
  if (isListed) {
    const now = Date.now()
    for (const { key } of change.rows) if (!seenAtMs.has(key)) seenAtMs.set(key, now)
  } else if (change.hasMore !== true) {
    isListed = true
    process.stdout.write('listed\n')
  }
}
