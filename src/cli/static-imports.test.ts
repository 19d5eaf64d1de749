/** Code that a process loads stays in its memory for as long as it runs, so a daemon loads only what it uses. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

test('the command line loads no daemon, no mode and no other command before it knows what is asked for', () => {
  const loaded = loadedBy('cli/main.ts')
  expect(loaded).toContain('cli/daemon/daemon-command.ts')
  expect(loaded.filter((file) => /^(backends|dataplane|embedded|kpng|sources)\//.test(file))).toEqual([])
})

for (const mode of ['iptables', 'nftables', 'ipvs'])
  test(`a daemon in ${mode} mode loads neither KPNG, nor an API server, nor what carries connections in user space`, () => {
    const loaded = loadedBy('cli/main.ts', 'cli/daemon/run-daemon.ts', `cli/modes/${mode}-mode.ts`)
    expect(loaded.filter((file) => /^(embedded|kpng)\/|^dataplane\/relay\/.*relay-thread/.test(file))).toEqual([])
    const backends = loaded.filter((file) => /^backends\/(\w+)\/\1-backend.ts$/.test(file))
    expect(backends).toEqual([`backends/${mode}/${mode}-backend.ts`])
  })

/** Files below src that these import, directly or not. Dynamic imports and type imports do not count. */
function loadedBy(...entries: readonly string[]): readonly string[] {
  const root = new URL('../', import.meta.url)
  const found = new Set(entries.map((entry) => new URL(entry, root).href))
  for (const file of found) {
    const text = readFileSync(fileURLToPath(file), 'utf8')
    for (const [, path = ''] of text.matchAll(/^(?:import|export) (?!type )[^;]*? from '(\.[^']+)'$/gm))
      found.add(new URL(path, file).href)
  }
  return [...found].map((file) => file.slice(root.href.length))
}
