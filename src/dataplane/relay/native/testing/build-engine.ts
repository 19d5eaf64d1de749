/** Builds the engine as a test wants it; with a sanitizer, a mistake in memory or between threads ends the process. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compileForUse, compileNativeRelay } from '../../../../../tools/compile-native-relay.ts'

export interface BuiltEngine extends AsyncDisposable {
  readonly program: string
}

/** By itself it only prints what it finds, and each process ends a second late. */
const threadSanitizerOptions = `
  const char *__tsan_default_options(void);
  const char *__tsan_default_options(void) { return "halt_on_error=1:atexit_sleep_ms=0"; }`

export function buildEngine(sanitizer: 'address,undefined' | 'thread'): Promise<BuiltEngine> {
  return build(sanitizer === 'thread' ? threadSanitizerOptions : undefined, async (program, more) =>
    compileNativeRelay(program, { linking: 'pie', sanitizer, more }),
  )
}

/** As it is shipped. What is in `more`, C as well, is built into it: a test's way to make it misbehave. */
export function buildShippedEngine(more?: string): Promise<BuiltEngine> {
  return build(more, compileForUse)
}

async function build(
  more: string | undefined,
  compile: (program: string, more: readonly string[]) => Promise<unknown>,
): Promise<BuiltEngine> {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-native-relay-'))
  const [program, source] = [join(directory, 'fairlead-relay'), join(directory, 'more.c')]
  if (more !== undefined) await writeFile(source, more)
  await compile(program, ['-Werror', ...(more === undefined ? [] : [source])])
  return { program, [Symbol.asyncDispose]: () => rm(directory, { recursive: true }) }
}
