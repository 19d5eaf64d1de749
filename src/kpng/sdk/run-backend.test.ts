/** What the author of a backend sees without configuring logs. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { TemporaryFolder } from '../../sources/kube/testing/temporary-folder.ts'
import { sampleService, syncedStore } from '../testing/cluster-samples.ts'
import { localBind } from '../testing/local-bind.ts'
import { addressText } from '../plaintext.ts'
import { testServer } from '../testing/test-server.ts'
import { consoleLogger } from './console-logger.ts'

const library = new URL('../../index.ts', import.meta.url).href
const patiently = { timeout: 50_000, interval: 20 }

/** The shortest possible program, in a process of its own. */
async function runProgram(api: string, sync: string, untilSaid: RegExp): Promise<string> {
  const program = `
    import { defineBackend, runBackend } from ${JSON.stringify(library)}
    const backend = defineBackend({ name: 'mine', sync() { ${sync} } })
    await runBackend(backend, { api: ${JSON.stringify(api)}, node: 'node-a', signal: new AbortController().signal })
  `
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program])
  const exited = once(child, 'exit')
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  try {
    await expect.poll(() => said, patiently).toMatch(untilSaid)
  } finally {
    child.kill('SIGKILL')
    await exited
  }
  return said
}

test('a wrong socket shows', { timeout: 60_000 }, async () => {
  const target = addressText(localBind('/nowhere'))
  const said = await runProgram(target, '', /no contact with the KPNG server/)
  expect(said).toMatch(/^WARN +no contact with the KPNG server; .* target=\S+nowhere\S* reason=".*ENOENT.*"/m)
  expect(said).toContain(` target=${target} `)
})

test('a sync that throws shows, with the place where it did', { timeout: 60_000 }, async () => {
  await using folder = await TemporaryFolder.make()
  const store = syncedStore()
  store.setService(sampleService('default/web'))
  store.commit()
  await using server = await testServer(store, { bind: localBind(folder.path) })
  const said = await runProgram(server.address, 'throw new Error("no such table")', /no such table\n {4}at /)
  expect(said).toMatch(/^ERROR the backend failed; it will be called again backend=mine error="no such table"/m)
})

test('a plaintext server on another machine is refused', { timeout: 60_000 }, async () => {
  const said = await runProgram('192.0.2.1:12090', '', /allowPlaintext/)
  expect(said).toContain("refusing to follow the cluster's state in plaintext from tcp://192.0.2.1:12090")
})

test('the console logger writes one line for each message, and detail only when asked', () => {
  const lines: string[] = []
  const log = consoleLogger({ verbosity: 2, write: (line) => lines.push(line) }).child({ part: 'x y' })
  log.info('hello', { path: 'a/b', text: 'two\nlines', none: undefined })
  log.debug(2, 'detail', { count: 3 })
  log.debug(3, 'more')
  expect(lines).toEqual([
    'INFO  hello part="x y" path=a/b text="two\\nlines" none=undefined',
    'DEBUG detail part="x y" count=3',
  ])
})
