import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ServerProcess } from './server-process.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fairlead-process-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('a server that ends instead of getting ready shows its last words', async () => {
  await using server = run('console.error("no such flag"); process.exitCode = 1')
  await expect(server.waitUntil('ready', never)).rejects.toThrow(/ended before it was ready[^]*no such flag/)
})

test('a server that never gets ready shows its last words', async () => {
  await using server = run('console.error("waiting for etcd"); setInterval(() => {}, 1000)')
  await expect(server.waitUntil('ready', never, 1000)).rejects.toThrow(/not ready within 1 s[^]*waiting for etcd/)
})

test('a program that does not exist is named', async () => {
  await using server = new ServerProcess('nothing', join(folder, 'nothing'), [], join(folder, 'nothing.log'))
  await expect(server.waitUntil('ready', never)).rejects.toThrow(/nothing ended before it was ready/)
})

test('a server has ended when it is disposed of', async () => {
  const server = run('setInterval(() => {}, 1000)')
  expect(server.isRunning).toBe(true)
  await server[Symbol.asyncDispose]()
  expect(server.isRunning).toBe(false)
})

const never = () => Promise.resolve(false)

function run(script: string): ServerProcess {
  return new ServerProcess('script', process.execPath, ['--eval', script], join(folder, 'script.log'))
}
