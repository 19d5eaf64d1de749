import { expect, test } from 'vitest'
import { architectureNames } from '../package/architectures.ts'
import { unneededPackages, wantedPackages } from './debian-packages.ts'
import { lockFile, parsePinnedPackages, readPinnedPackages, renderPinnedPackages } from './pinned-packages.ts'
import { readFile } from 'node:fs/promises'

test('the lock file is as the tool writes it', async () => {
  const text = await readFile(lockFile, 'utf8')
  expect(renderPinnedPackages(parsePinnedPackages(text))).toBe(text)
})

test.each(architectureNames)('every wanted package is pinned for %s, and none that is not needed', async (arch) => {
  const { packages } = await readPinnedPackages()
  const names = packages.filter((one) => one.arch === arch).map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(Object.keys(wantedPackages)))
  for (const name of unneededPackages) expect(names).not.toContain(name)
})

test('both architectures have the same packages in the same versions, up to a rebuild of one', async () => {
  const { packages } = await readPinnedPackages()
  const [first, second] = architectureNames.map((arch) =>
    packages.filter((one) => one.arch === arch).map(({ name, version }) => `${name} ${version.replace(/\+b\d+$/, '')}`),
  )
  expect(first).toEqual(second)
})

test.each([
  ['without a day', 'amd64 nftables 1 00 pool/x.deb\n'],
  ['with an architecture that has no image', `chosen 2026-11-16\ni386 nftables 1 ${'0'.repeat(64)} pool/x.deb\n`],
  ['without a hash', 'chosen 2026-11-16\namd64 nftables 1 - pool/x.deb\n'],
])('a lock file %s is refused', (_what, text) => {
  expect(() => parsePinnedPackages(text)).toThrow(lockFile)
})
