/** Builds the engine as a test wants it; with a sanitizer, a mistake in memory or between threads ends the process. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compileForUse, compileNativeRelay } from '../../../../../tools/compile-native-relay.ts'

export interface BuiltEngine extends AsyncDisposable {
  readonly program: string
}

/** By default it only prints what it finds, and delays the end of each process by a second. */
const threadSanitizerOptions = `
  const char *__tsan_default_options(void);
  const char *__tsan_default_options(void) { return "halt_on_error=1:atexit_sleep_ms=0"; }`

export function buildEngine(sanitizer: 'address,undefined' | 'thread'): Promise<BuiltEngine> {
  return build(sanitizer === 'thread' ? threadSanitizerOptions : undefined, async (program, more) =>
    compileNativeRelay(program, { linking: 'pie', sanitizer, more }),
  )
}

/** Built as it is shipped, with the C code in `more` added: a test's way to make it misbehave. */
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
