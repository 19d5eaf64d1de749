/** Compiles the native engine of the userspace mode: one call of the C compiler, no build system. */
import { execFile } from 'node:child_process'
import { mkdir, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const sources = fileURLToPath(new URL('../native/relay/', import.meta.url))
const compiler = process.env['CC'] ?? 'cc'
const flags = ['-std=c11', '-O2', '-Wall', '-Wextra', '-Wshadow', '-pthread', '-fPIE', '-fstack-protector-strong']
/** Addresses of functions are looked up once, and then cannot be overwritten; nothing on the stack can be run. */
const linkerFlags = ['-Wl,-z,relro,-z,now,-z,noexecstack']
/** Sanitizers do the same, and better; the two do not go together. Some compilers have a level set, and would warn. */
const fortified = ['-U_FORTIFY_SOURCE', '-D_FORTIFY_SOURCE=2']

/** Linked statically it runs on any distribution; not every compiler has the library for that. */
export type Linking = 'static-pie' | 'pie'

export interface CompileOptions {
  readonly linking: Linking
  readonly sanitizer?: string
  /** More flags, or more files. */
  readonly more?: readonly string[]
}

export async function compileNativeRelay(program: string, options: CompileOptions): Promise<void> {
  const { linking, sanitizer, more = [] } = options
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

/** Compiles it as it is shipped; says how it could be linked. */
export async function compileForUse(program: string, more: readonly string[] = []): Promise<Linking> {
  try {
    await compileNativeRelay(program, { linking: 'static-pie', more })
    return 'static-pie'
  } catch {
    await compileNativeRelay(program, { linking: 'pie', more })
    return 'pie'
  }
}
