/** What the pages tell an operator to type on the way back to kube-proxy works on every node. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { createNamespace, missingForRealTools } from '../src/dataplane/iptables/testing/network-namespace.ts'

const never = new AbortController().signal
const program = fileURLToPath(new URL('../bin/fairlead.js', import.meta.url))
const folder = fileURLToPath(new URL('../docs', import.meta.url))
const pages = readdirSync(folder)
  .filter((name) => name.endsWith('.md'))
  .map((name) => readFileSync(join(folder, name), 'utf8'))

test('the pages about the way back name the same command, and none deletes tables by hand', () => {
  expect(pages.filter((page) => page.includes('fairlead --cleanup --only-own-tables')).length).toBeGreaterThan(3)
  expect(pages.filter((page) => /nft '[^']*delete table/.test(page))).toEqual([])
})

const missing = missingForRealTools(['nft'])
const because = missing === undefined ? '' : ` [skipped: ${missing}]`

test.skipIf(missing !== undefined).each([
  ['with both tables', ['ip', 'ip6']],
  ['without IPv6', ['ip']],
  ['without IPv4', ['ip6']],
  ['that has been cleaned up before', []],
])(`it removes what a node has %s${because}`, async (_which, families) => {
  await using namespace = await createNamespace()
  const nft = async (script: string) => {
    const done = await namespace.exec('nft', [script], { signal: never })
    return done.exitCode === 0 ? done.stdout : done.stderr
  }
  for (const family of families) expect(await nft(`add table ${family} fairlead`)).toBe('')
  expect(await nft('add table ip kube-proxy')).toBe('')
  const args = [program, '--cleanup', '--only-own-tables']
  expect(await namespace.exec(process.execPath, args, { signal: never })).toMatchObject({ exitCode: 0, stderr: '' })
  expect(await nft('list tables')).toBe('table ip kube-proxy\n')
})
