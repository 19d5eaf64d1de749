import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { downloadPackages } from './download-packages.ts'
import type { PinnedPackage } from './pinned-packages.ts'

const hasApt = existsSync('/usr/lib/apt/apt-helper')

describe.skipIf(!hasApt)(`packages from a mirror${hasApt ? '' : ' [skipped: there is no apt here]'}`, () => {
  let folder: string
  let mirrors: readonly string[]
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fairlead-mirror-'))
    await mkdir(join(folder, 'mirror/pool'), { recursive: true })
    await writeFile(join(folder, 'mirror/pool/nftables_1.0+x_amd64.deb'), 'a package')
    mirrors = [`copy:${folder}/empty`, `copy:${folder}/mirror`]
  })
  afterEach(() => rm(folder, { recursive: true }))

  test('come from the first that has them, and only once', async () => {
    const [file = ''] = await downloadPackages([pinned('a package')], join(folder, 'cache'), mirrors)
    expect(await readFile(file, 'utf8')).toBe('a package')
    await rm(join(folder, 'mirror'), { recursive: true })
    expect(await downloadPackages([pinned('a package')], join(folder, 'cache'), mirrors)).toEqual([file])
  })

  test('are refused when they are not what was pinned', async () => {
    const download = downloadPackages([pinned('another package')], join(folder, 'cache'), mirrors)
    await expect(download).rejects.toThrow('Hash Sum mismatch')
    expect(await readdir(join(folder, 'cache'))).toEqual([])
  })

  test('that are no longer there are named, with the way out', async () => {
    const gone = { ...pinned('a package'), path: 'pool/nftables_0.9_amd64.deb' }
    await expect(downloadPackages([gone], join(folder, 'cache'), mirrors)).rejects.toThrow(
      /no mirror of this machine has nftables 1\.0\+x for amd64 .* run "npm run image -- --refresh"/,
    )
  })
})

function pinned(content: string): PinnedPackage {
  const sha256 = createHash('sha256').update(content).digest('hex')
  return { arch: 'amd64', name: 'nftables', version: '1.0+x', sha256, path: 'pool/nftables_1.0+x_amd64.deb' }
}
