import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { HeapSampling } from './heap-profile.ts'
import { encodePprof } from './pprof.ts'

const hasPprof = spawnSync('go', ['tool', 'pprof', '-h']).error === undefined

test.skipIf(!hasPprof)('go tool pprof adds up what each function holds (skipped: needs go)', async () => {
  const frame = (functionName: string, line: number) => ({ functionName, file: 'file:///app/main.js', line })
  const samples = [
    { stack: [frame('inner', 3), frame('outer', 7)], value: 3 * 1024 * 1024 },
    { stack: [frame('outer', 9)], value: 1024 * 1024 },
  ]
  const profile = encodePprof({
    type: 'inuse_space',
    unit: 'bytes',
    period: 524_288,
    takenAtMs: Date.UTC(2026, 0),
    samples,
  })
  const top = await pprof(profile, '-top')
  expect(top).toContain('Type: inuse_space')
  expect(top).toMatch(/4MB total/)
  expect(top).toMatch(/3MB\s+75\.00%\s+75\.00%\s+3MB\s+75\.00%\s+inner/)
  expect(top).toMatch(/1MB\s+25\.00%\s+100%\s+4MB\s+100%\s+outer/)
  expect(await pprof(profile, '-traces')).toMatch(/inner\n\s+outer/)
})

test.skipIf(!hasPprof)('a profile names who allocated, and holds nothing of what (skipped: needs go)', async () => {
  using heap = new HeapSampling()
  const kept = fillMemory('credential-that-must-not-show')
  const profile = await heap.profile(0)
  expect(kept.length).toBeGreaterThan(0)
  expect(await pprof(profile, '-top')).toContain('fillMemory')
  expect(gunzipSync(profile).includes('credential-that-must-not-show')).toBe(false)
})

function fillMemory(text: string): readonly string[][] {
  return Array.from({ length: 2000 }, (_, row) =>
    Array.from({ length: 1000 }, (_unused, column) => `${text}${row}${column}`),
  )
}

async function pprof(profile: Uint8Array, option: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-pprof-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'heap.pb.gz')
  await writeFile(file, profile)
  return execFileSync('go', ['tool', 'pprof', '-symbolize=none', option, file], { encoding: 'utf8', stdio: 'pipe' })
}
