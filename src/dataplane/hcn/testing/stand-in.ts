/** The stand-in for computenetwork.dll (tests/windows/stand-in) in this process. */
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import koffi from 'koffi'
import { buildStandIn, compilers } from '../../../../tests/windows/stand-in/build.ts'
import type { LibraryName } from '../../../../tests/windows/stand-in/build.ts'
import { systemLibraries } from '../native-libraries.ts'
import type { NativeLibraries } from '../native-libraries.ts'

/** A folder with the libraries. Under Wine there is no compiler, so whoever runs the tests there brings them. */
const brought = process.env['FAIRLEAD_STAND_IN']

/** Why it cannot be used. */
export function missingForStandIn(): string | undefined {
  if (brought !== undefined) return undefined
  if (process.platform === 'win32') return 'needs FAIRLEAD_STAND_IN, the folder of the libraries'
  try {
    execFileSync(compilers.here, ['--version'], { stdio: 'ignore' })
    return undefined
  } catch {
    return `needs a C compiler, ${compilers.here}`
  }
}

export interface StandIn extends AsyncDisposable {
  /** The stand-in for all of them; only CoTaskMemFree is real on Windows. */
  readonly libraries: NativeLibraries
  /** Objects as lines: `Network {"ID":…}`. */
  setState(lines: readonly string[]): Promise<void>
  /** Lines such as `HcnOpenEndpoint 0x80070005 record`, `HcnDeleteEndpoint wait 200`. They stay until others are set. */
  setFaults(lines: readonly string[]): Promise<void>
  /** What was called since the last time, a line for each. */
  takeLog(): Promise<readonly string[]>
  /** What has been lent to the caller, and not been given back. */
  lent(): { readonly texts: number; readonly handles: number }
  mostCallsAtOnce(): number
}

export async function openStandIn(name: LibraryName = 'computenetwork'): Promise<StandIn> {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-stand-in-'))
  const [state, faults, log] = ['state', 'faults', 'log'].map((name) => join(folder, name))
  const library = brought === undefined ? await built(name) : join(brought, `${name}.dll`)
  const ole = process.platform === 'win32' ? systemLibraries(process.env).ole : library
  const loaded = koffi.load(library)
  loaded.func('void __stdcall StandInUse(const char16_t *folder)')(folder)
  const count = (name: string) => loaded.func(`int32_t __stdcall ${name}()`) as () => number
  const [texts, handles, most] = ['LentTexts', 'OpenHandles', 'MostCallsAtOnce'].map((name) => count(`StandIn${name}`))
  const [textsBefore, handlesBefore] = [texts?.() ?? 0, handles?.() ?? 0]

  return {
    libraries: { computeNetwork: library, vmCompute: library, ole },
    setState: (lines) => writeFile(state ?? '', lines.map((line) => `${line}\n`).join('')),
    setFaults: (lines) => writeFile(faults ?? '', lines.map((line) => `${line}\n`).join('')),
    async takeLog() {
      const lines = (await readFile(log ?? '', 'utf8').catch(() => '')).split('\n').slice(0, -1)
      await writeFile(log ?? '', '')
      return lines
    },
    lent: () => ({ texts: (texts?.() ?? 0) - textsBefore, handles: (handles?.() ?? 0) - handlesBefore }),
    mostCallsAtOnce: () => most?.() ?? 0,
    async [Symbol.asyncDispose]() {
      // Under Wine a file that was just closed may still count as open for a moment.
      await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
    },
  }
}

const librariesByName = new Map<LibraryName, Promise<string>>()

/** Once for each process. */
function built(name: LibraryName): Promise<string> {
  const library = librariesByName.get(name) ?? build(name)
  librariesByName.set(name, library)
  return library
}

async function build(name: LibraryName): Promise<string> {
  return buildStandIn('here', await mkdtemp(join(tmpdir(), 'fairlead-stand-in-')), name)
}

/** What was compiled; it can be loaded no more. */
export async function removeStandIns(): Promise<void> {
  for (const library of librariesByName.values()) await rm(dirname(await library), { recursive: true, force: true })
}
