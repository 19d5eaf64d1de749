/**
 * Builds the programs of the ebpf mode into `dist`. With --if-possible it is no error if they cannot be built: the other
 * modes work without.
 */
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { compileEbpf } from './compile-ebpf.ts'

const { values } = parseArgs({ options: { 'if-possible': { type: 'boolean' } } })
try {
  await compileEbpf(fileURLToPath(new URL('../dist/native/fairlead.bpf.o', import.meta.url)))
} catch (error) {
  const reason = error instanceof Error ? error.message : String(error)
  process.stderr.write(`the programs of the ebpf mode are not built (the other modes work without): ${reason}\n`)
  if (values['if-possible'] !== true) process.exitCode = 1
}
