/** Chooses the newest versions of all packages, and writes the lock file. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { resolvePackages } from './apt.ts'
import { architectureNames } from '../package/architectures.ts'
import { unneededPackages, wantedPackages } from './debian-packages.ts'
import { type PinnedPackage, readPinnedPackages, writePinnedPackages } from './pinned-packages.ts'

/** Returns what changed, a sentence for each package. */
export async function refreshPins(now: Date): Promise<readonly string[]> {
  const before = await readPinnedPackages().catch(() => ({ chosenAt: 0, packages: [] }))
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-apt-'))
  try {
    const packages: PinnedPackage[] = []
    for (const arch of architectureNames)
      packages.push(...(await resolvePackages(join(folder, arch), arch, Object.keys(wantedPackages))))
    const needed = packages.filter(({ name }) => !unneededPackages.includes(name))
    const changes = changesBetween(before.packages, needed)
    // The day is in the time of every file: without a change, the image stays the same to the byte.
    if (changes.length > 0) await writePinnedPackages({ chosenAt: now.getTime() / 1000, packages: needed })
    return changes
  } finally {
    await rm(folder, { recursive: true })
  }
}

function changesBetween(before: readonly PinnedPackage[], after: readonly PinnedPackage[]): readonly string[] {
  const key = ({ arch, name }: PinnedPackage) => `${name} for ${arch}`
  const old = new Map(before.map((one) => [key(one), one]))
  const kept = new Set(after.map(key))
  return [
    ...after
      .filter((one) => old.get(key(one))?.sha256 !== one.sha256)
      .map((one) => `${key(one)}: ${old.get(key(one))?.version ?? 'new'} -> ${one.version}`),
    ...[...old.keys()].filter((name) => !kept.has(name)).map((name) => `${name}: no longer needed`),
  ]
}
