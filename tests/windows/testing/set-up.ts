/**
 * Makes a small Windows in `.cache/windows`: the packages of `tests/windows/packages`, and a Wine prefix, which is
 * Wine's word for a system drive with its registry. Both are made once and used again until what they are made of changes.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { missingTools, programs, wineEnvironment } from './wine.ts'

const run = promisify(execFile)

export const root: string = fileURLToPath(new URL('../../../', import.meta.url))
const here = join(root, 'tests/windows')
export const cache: string = join(root, '.cache/windows')

export interface WindowsMachine {
  /** The system drive and the registry. */
  readonly prefix: string
  /** `node_modules` with binaries for Windows. */
  readonly packages: string
}

let machine: Promise<WindowsMachine> | undefined

export function setUpWindows(): Promise<WindowsMachine> {
  return (machine ??= makeMachine())
}

async function makeMachine(): Promise<WindowsMachine> {
  if (missingTools !== undefined) throw new Error(`Windows programs cannot run here${missingTools}`)
  await mkdir(cache, { recursive: true })
  const [packages, prefix] = await Promise.all([installPackages(), makePrefix()])
  return { packages: join(packages, 'node_modules'), prefix }
}

async function installPackages(): Promise<string> {
  const files = ['package.json', 'package-lock.json', '.npmrc']
  const contents = await Promise.all(files.map((name) => readFile(join(here, 'packages', name), 'utf8')))
  return madeOnce(`packages-${hash(...contents)}`, async (folder) => {
    await Promise.all(files.map((name) => cp(join(here, 'packages', name), join(folder, name))))
    // They are for another system than this one.
    await run('npm', ['ci', '--force'], { cwd: folder })
  })
}

/** Each checkout has a prefix of its own, because ending a prefix ends every program in it. */
async function makePrefix(): Promise<string> {
  const source = join(here, 'stand-in/bcryptprimitives.c')
  return madeOnce(`prefix-${hash(root, await readFile(source, 'utf8'))}`, async (folder) => {
    const env = { ...process.env, ...wineEnvironment(folder) }
    // Otherwise it says that it is Windows 7, which Node.js refuses.
    const version = ['reg', 'add', String.raw`HKCU\Software\Wine`, '/v', 'Version', '/d', 'win10', '/f']
    await run(programs.wine ?? '', version, { env })
    await compile(source, join(folder, 'drive_c/windows/system32/bcryptprimitives.dll'), '-shared', '-ladvapi32')
    await endWine(folder)
  })
}

/** Compiles C for Windows: a program, or with `-shared` a library. */
export async function compile(source: string, target: string, ...flags: readonly string[]): Promise<void> {
  await run(programs.compiler ?? '', ['-O1', '-Wall', '-Werror', '-o', target, source, ...flags])
}

/** Ends every program of the prefix, and waits until they are gone. */
export async function endWine(prefix: string): Promise<void> {
  const env = { ...process.env, ...wineEnvironment(prefix) }
  // It fails when nothing is running.
  await run(programs.wineserver ?? '', ['-k'], { env }).catch(() => {})
  await run(programs.wineserver ?? '', ['-w'], { env }).catch(() => {})
}

/** What is half made has another name, so that nobody takes it for the whole. */
export async function madeOnce(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const made = join(cache, name)
  if (existsSync(made)) return made
  const half = await mkdtemp(join(cache, 'half-made-'))
  try {
    await make(half)
    // Somebody else may have been faster.
    await rename(half, made).catch((error: unknown) => {
      if (!existsSync(made)) throw error
    })
  } finally {
    await rm(half, { recursive: true, force: true })
  }
  return made
}

export function hash(...texts: readonly string[]): string {
  return createHash('sha256').update(texts.join('\0')).digest('hex').slice(0, 12)
}
