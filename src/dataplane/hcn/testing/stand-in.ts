/** The stand-in for computenetwork.dll (tests/windows/stand-in) in this process. */
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import koffi from 'koffi'
import { buildStandIn, compilers } from '../../../../tests/windows/stand-in/build.ts'
import type { NativeLibraries } from '../native-libraries.ts'

/** Under Wine there is no compiler: whoever runs the tests there brings the library. */
const brought = process.env['FAIRLEAD_STAND_IN']

/** Why it cannot be used. */
export function missingForStandIn(): string | undefined {
  if (brought !== undefined) return undefined
  if (process.platform === 'win32') return 'needs FAIRLEAD_STAND_IN, the path of the library'
  try {
    execFileSync(compilers.here, ['--version'], { stdio: 'ignore' })
    return undefined
  } catch {
    return `needs a C compiler, ${compilers.here}`
  }
}

export interface StandIn extends AsyncDisposable {
  /** All of them are the stand-in. */
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

export async function openStandIn(flags: readonly string[] = []): Promise<StandIn> {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-stand-in-'))
  const [state, faults, log] = ['state', 'faults', 'log'].map((name) => join(folder, name))
  const library = brought ?? (await built(flags))
  Object.assign(process.env, { STAND_IN_STATE: state, STAND_IN_FAULTS: faults, STAND_IN_LOG: log })
  const loaded = koffi.load(library)
  const count = (name: string) => loaded.func(`int32_t __stdcall ${name}()`) as () => number
  const [texts, handles, most] = ['LentTexts', 'OpenHandles', 'MostCallsAtOnce'].map((name) => count(`StandIn${name}`))
  const [textsBefore, handlesBefore] = [texts?.() ?? 0, handles?.() ?? 0]

  return {
    libraries: { computeNetwork: library, vmCompute: library, ole: library },
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
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const librariesByFlags = new Map<string, Promise<string>>()

/** Once for each process. */
function built(flags: readonly string[]): Promise<string> {
  const library = librariesByFlags.get(flags.join(' ')) ?? build(flags)
  librariesByFlags.set(flags.join(' '), library)
  return library
}

async function build(flags: readonly string[]): Promise<string> {
  const library = join(await mkdtemp(join(tmpdir(), 'fairlead-stand-in-')), 'computenetwork.so')
  await buildStandIn('here', library, flags)
  return library
}

/** What was compiled; it can be loaded no more. */
export async function removeStandIns(): Promise<void> {
  for (const library of librariesByFlags.values()) await rm(dirname(await library), { recursive: true, force: true })
}
