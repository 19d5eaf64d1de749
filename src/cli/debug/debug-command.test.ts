import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { silentLogger } from '../../core/logger.ts'
import { debugHandler, limitsOnPort } from '../../observe/http/debug/debug-handler.ts'
import type { DebugPage } from '../../observe/http/debug/debug-page.ts'
import { memoryHost, memoryProgram } from '../host/testing/memory-host.ts'
import { debugCommand } from './debug-command.ts'

const pages: readonly DebugPage[] = [
  {
    path: '/debug/view',
    about: 'what this node proxies',
    answer: async ({ query }) => ({ kind: 'json', value: { of: query.get('namespace') } }),
  },
  { path: '/debug/services/', about: 'one', answer: async ({ rest }) => ({ kind: 'json', value: rest }) },
  { path: '/debug/rules', about: 'rules', answer: async () => ({ kind: 'text', text: 'table ip fairlead' }) },
]

async function debug(...argv: readonly string[]): Promise<string> {
  const handle = debugHandler({ pages, clock: new FakeClock(), log: silentLogger, limits: limitsOnPort })
  const server = createServer((request, response) => void handle(request, response))
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const program = memoryProgram(memoryHost({}))
  const code = await debugCommand([...argv, `--server=http://127.0.0.1:${port}`], program, new AbortController().signal)
  expect(code).toBe(0)
  return program.printed()
}

test('says which pages there are', async () => {
  expect(await debug()).toContain('"/debug/view": "what this node proxies"')
})

test('prints data so that people can read it, and text as it is', async () => {
  expect(await debug('view', 'namespace=shop')).toBe('{\n  "of": "shop"\n}\n')
  expect(await debug('services/shop/web')).toBe('[\n  "shop",\n  "web"\n]\n')
  expect(await debug('rules')).toBe('table ip fairlead\n')
})

test('a page may be named by its whole path', async () => {
  expect(await debug('/debug/rules')).toBe('table ip fairlead\n')
})

test('what is no page and what is no question is told with the way out', async () => {
  await expect(debug('nothing')).rejects.toThrow('/debug/ lists')
  await expect(debug('view', 'shop')).rejects.toThrow('write NAME=VALUE')
})
