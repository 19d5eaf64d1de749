/** Compiles the native engine of the userspace mode: one call of the C compiler, no build system. */
import { execFile } from 'node:child_process'
import { mkdir, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const sources = fileURLToPath(new URL('../native/relay/', import.meta.url))
const flags = ['-std=c11', '-O2', '-Wall', '-Wextra', '-Wshadow', '-pthread', '-fPIE', '-fstack-protector-strong']
/** Hardening: the table of function addresses is read-only after start, and the stack is not executable. */
const linkerFlags = ['-Wl,-z,relro,-z,now,-z,noexecstack']
/** Not with sanitizers, which do the same better. -U first, because compilers with a preset level would warn. */
const fortified = ['-U_FORTIFY_SOURCE', '-D_FORTIFY_SOURCE=2']

/** A static program runs on any distribution, but not every compiler has the static C library. */
export type Linking = 'static-pie' | 'pie'

export interface CompileOptions {
  readonly linking: Linking
  /** Another one than that of this machine, to compile for another. */
  readonly compiler?: string
  readonly sanitizer?: string
  /** More flags, or more files. */
  readonly more?: readonly string[]
}

export async function compileNativeRelay(program: string, options: CompileOptions): Promise<void> {
  const { linking, compiler = process.env['CC'] ?? 'cc', sanitizer, more = [] } = options
  const files = (await readdir(sources)).filter((name) => name.endsWith('.c')).map((name) => join(sources, name))
  const checks = sanitizer === undefined ? fortified : [`-fsanitize=${sanitizer}`, '-fno-sanitize-recover=all', '-g']
  await mkdir(dirname(program), { recursive: true })
  await promisify(execFile)(compiler, [
    ...flags,
    ...checks,
    ...linkerFlags,
    `-${linking}`,
    ...more,
    '-o',
    program,
    ...files,
  ])
}

/** Compiles it as it is shipped, statically if possible. */
export async function compileForUse(
  program: string,
  more: readonly string[] = [],
  compiler?: string,
): Promise<Linking> {
  const options = compiler === undefined ? { more } : { more, compiler }
  try {
    await compileNativeRelay(program, { ...options, linking: 'static-pie' })
    return 'static-pie'
  } catch {
    await compileNativeRelay(program, { ...options, linking: 'pie' })
    return 'pie'
  }
}
