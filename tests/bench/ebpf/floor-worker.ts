/** The least that a proxy in Node.js can do about an event: it reads the watch, parses the event, and stores one word. */
import { get } from 'node:http'
import { workerData } from 'node:worker_threads'
import { JsonLines } from '../../../src/sources/kube/reflector/json-lines.ts'
import type { FloorData } from './floor.ts'

const { url, memory } = workerData as FloorData
const [changes, isListed] = [0, 1]
const words = new Int32Array(memory)
const lines = new JsonLines('the floor')

get(url, (response) => {
  response.on('data', (chunk: Buffer) => {
    lines.push(chunk, (event) => {
      if ((event as { readonly type: string }).type === 'BOOKMARK') Atomics.store(words, isListed, 1)
      else if (words[isListed] === 1) Atomics.add(words, changes, 1)
      return true
    })
  })
})
