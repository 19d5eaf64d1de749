/** Whatever reaches past the Host cannot be tried without touching the machine, and a test of it may fail elsewhere. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const pastTheHost = [
  /(?<!host\.)\bprocess\.\w/,
  /'node:(?:os|fs|child_process|dns|v8)(?:\/promises)?'/,
  /\b(?:systemClock|processExec|fileSysctl)\b/,
  /^import \{[^}]*\bopen(?:Netlink|Datagrams|Relay)\b/m,
]

/** With what they do there. */
const exceptions: Readonly<Record<string, string>> = {
  'cluster-source.ts': 'checks that the paths which the user names exist; src/sources reads them from disk too',
}

for (const folder of ['daemon', 'modes'])
  test(`src/cli/${folder} uses the machine through the Host only`, () => {
    const files = sourcesIn(fileURLToPath(new URL(`../${folder}`, import.meta.url)))
    expect(files.length).toBeGreaterThan(5)
    const past = files.filter((file) => pastTheHost.some((way) => way.test(readFileSync(file, 'utf8'))))
    expect(past.map((file) => basename(file)).filter((file) => !(file in exceptions))).toEqual([])
  })

function sourcesIn(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => join(folder, name))
}
