/** Builds the engine as a test wants it; with a sanitizer, a mistake in memory or between threads ends the process. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compileNativeRelay } from '../../../../../tools/compile-native-relay.ts'

export interface BuiltEngine extends AsyncDisposable {
  readonly program: string
}

export async function buildEngine(sanitizer?: 'address,undefined' | 'thread'): Promise<BuiltEngine> {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-native-relay-'))
  const program = join(directory, 'fairlead-relay')
  const checks = sanitizer === undefined ? [] : [`-fsanitize=${sanitizer}`, '-fno-sanitize-recover=all', '-g']
  await compileNativeRelay(program, ['-Werror', ...checks])
  return { program, [Symbol.asyncDispose]: () => rm(directory, { recursive: true }) }
}
