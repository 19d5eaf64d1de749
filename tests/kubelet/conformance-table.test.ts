import { readFile } from 'node:fs/promises'
import { assert, test } from 'vitest'
import { renderPage } from './conformance-table.ts'
import { proxies } from './proxies/proxies.ts'
import { recordedRun } from './recorded-runs.ts'
import type { RecordedRun } from './recorded-runs.ts'
import type { TestResult } from './results.ts'

const page = new URL('../../docs/conformance.md', import.meta.url)
const rows = [
  { name: 'peer', title: 'Peer', isBaseline: true },
  { name: 'ours', title: 'Ours', isBaseline: false },
]
const emptyPage = ['results', 'left out']
  .map((name) => `<!-- ${name}: written by npm run test:e2e -- --table -->\n<!-- end of ${name} -->\n`)
  .join('\n')

test('the page shows what is recorded', async () => {
  const written = await readFile(page, 'utf8')
  assert.equal(await renderPage(written, proxies, recordedRun), written, 'run: npm run test:e2e -- --table')
})

test('what fails here and passes with the peer is named', async () => {
  const text = await renderPage(emptyPage, rows, (proxy) =>
    proxy === 'peer'
      ? run(proxy, { name: 'one', outcome: 'passed' }, { name: 'two', outcome: 'failed' })
      : run(proxy, { name: 'one', outcome: 'failed', reason: 'no answer' }, { name: 'two', outcome: 'failed' }),
  )
  assert.match(text, /\| Peer +\| 1 +\| 1 +\| 0 +\| 0 +\| +\| 2026-01-02, 9 min \|/)
  assert.match(text, /\| Ours +\| 0 +\| 2 +\| 0 +\| 0 +\| 1 +\| 2026-01-02, 9 min \|/)
  assert.include(text, '- Ours: `one`: no answer\n')
  assert.notInclude(text, '`two`')
})

test('without a run of the peer, nothing is said about the difference', async () => {
  const only = (proxy: string): RecordedRun | undefined =>
    proxy === 'peer' ? undefined : run(proxy, { name: 'one', outcome: 'failed' })
  assert.match(await renderPage(emptyPage, rows, only), /\| Ours +\| 0 +\| 1 +\| 0 +\| 0 +\| not known yet +\|/)
})

test('a proxy without a run is not made up', async () => {
  assert.match(await renderPage(emptyPage, rows, () => undefined), /\| Ours +\| not recorded yet \|/)
})

function run(proxy: string, ...results: readonly Omit<TestResult, 'seconds'>[]): RecordedRun {
  const timed = results.map((result) => ({ ...result, seconds: 1 }))
  return { proxy, date: '2026-01-02', minutes: 9, nodes: 2, results: timed }
}
