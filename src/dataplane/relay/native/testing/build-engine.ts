/** Builds the engine as a test wants it; with a sanitizer, a mistake in memory or between threads ends the process. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compileNativeRelay } from '../../../../../tools/compile-native-relay.ts'

export interface BuiltEngine extends AsyncDisposable {
  readonly program: string
}

export async function buildEngine(sanitizer?: 'address,undefined' | 'thread'): Promise<BuiltEngine> {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-native-relay-'))
  const program = join(directory, 'fairlead-relay')
  await compileNativeRelay(program, ['-Werror', ...(await checks(directory, sanitizer))])
  return { program, [Symbol.asyncDispose]: () => rm(directory, { recursive: true }) }
}

async function checks(directory: string, sanitizer: string | undefined): Promise<readonly string[]> {
  if (sanitizer === undefined) return []
  const flags = [`-fsanitize=${sanitizer}`, '-fno-sanitize-recover=all', '-g']
  if (sanitizer !== 'thread') return flags
  // By itself it only prints what it finds, and each process ends a second late.
  const options = join(directory, 'options.c')
  await writeFile(
    options,
    `const char *__tsan_default_options(void);
     const char *__tsan_default_options(void) { return "halt_on_error=1:atexit_sleep_ms=0"; }`,
  )
  return [...flags, options]
}
