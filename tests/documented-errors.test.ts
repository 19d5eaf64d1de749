/** docs/errors.md lists every reason that an error of ours can have, and no other. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { kubeErrorReasons } from '../src/sources/kube/kube-error.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Errors that never leave the folder they are made in: what they become is documented. */
const internal = new Set(['PatchError', 'Refusal', 'ApiError'])

function reasonsInCode(): string[] {
  const found = kubeErrorReasons.map((reason) => `KubeError ${reason}`)
  for (const entry of readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.ts') || entry.name.endsWith('.test.ts')) continue
    const text = readFileSync(join(entry.parentPath, entry.name), 'utf8')
    for (const [, name = '', body = ''] of text.matchAll(/class (\w+) extends Error \{([\s\S]*?)\n\}/g)) {
      if (internal.has(name)) continue
      const type = /readonly reason: ([^\n]+)/.exec(body)?.[1] ?? ''
      // The union itself, or the name of a type in the same file that holds it.
      const union = type.includes("'") ? type : (new RegExp(`type ${type} =([^;]*?)\\n\\n`).exec(text)?.[1] ?? '')
      for (const [, reason = ''] of union.matchAll(/'([\w-]+)'/g)) found.push(`${name} ${reason}`)
    }
  }
  return found.sort()
}

test('every reason of an error is documented with what to do, and nothing else is', () => {
  const page = readFileSync(join(root, 'docs/errors.md'), 'utf8')
  const documented = [...page.matchAll(/^\| `(\w+)`\s+\| `([\w-]+)`/gm)].map(([, name, reason]) => `${name} ${reason}`)
  expect(documented.sort()).toEqual(reasonsInCode())
})
