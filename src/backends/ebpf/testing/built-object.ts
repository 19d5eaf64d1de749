/** The programs as they are now, for tests: compiled from the sources where clang is, otherwise as the last build left them. */
import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compileEbpf } from '../../../../tools/compile-ebpf.ts'
import { ebpfObject } from '../../../host/own-files.ts'

const hasClang = spawnSync('clang', ['--version']).status === 0

/** To skip tests by name: nothing is missing if it is empty. */
export const missingForObject = hasClang || ebpfObject() !== undefined ? '' : 'clang, or a build that had it'

export async function builtObject(): Promise<Buffer> {
  if (!hasClang) return readFile(ebpfObject() ?? '')
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-ebpf-'))
  try {
    const object = join(directory, 'fairlead.bpf.o')
    await compileEbpf(object)
    return await readFile(object)
  } finally {
    await rm(directory, { recursive: true })
  }
}
