/**
 * Finds out why a program could not be started. If PATH has a folder that this user may not read (as after `su`), the
 * system answers "permission denied" even for a program that does not exist. So its answer alone is misleading.
 */
import { statSync } from 'node:fs'
import * as paths from 'node:path'

export type Whereabouts =
  | { readonly kind: 'found'; readonly file: string }
  | {
      readonly kind: 'missing'
      /** Folders of PATH that this user may not look into. */ readonly hidden: readonly string[]
    }

/** `hidden`: this user may not read the folder. */
export type Look = (path: string) => 'file' | 'nothing' | 'hidden'

/**
 * A program that is given with a folder is looked for there only, as the system does. `endings` are those that its name
 * may have beyond what is given.
 */
export function findProgram(
  program: string,
  path: string | undefined,
  look: Look = lookAt,
  system: typeof paths.posix = paths,
  endings: readonly string[] = [''],
): Whereabouts {
  const names = endings.map((ending) => program + ending)
  if (program.includes('/') || program.includes(system.sep)) {
    const file = names.find((name) => look(name) !== 'nothing')
    return file === undefined ? nowhere : { kind: 'found', file }
  }
  const hidden: string[] = []
  for (const folder of (path ?? '').split(system.delimiter))
    for (const name of names) {
      const file = system.join(folder, name)
      const seen = look(file)
      if (seen === 'file') return { kind: 'found', file }
      if (seen === 'hidden' && !hidden.includes(folder)) hidden.push(folder)
    }
  return { kind: 'missing', hidden }
}

/** For the end of an error; empty if this user may read all folders of PATH. */
export function hiddenNote({ hidden }: Extract<Whereabouts, { kind: 'missing' }>): string {
  return hidden.length === 0 ? '' : ` (this user may not look into ${hidden.join(', ')})`
}

const nowhere: Whereabouts = { kind: 'missing', hidden: [] }

export function lookAt(path: string): ReturnType<Look> {
  try {
    // A folder of that name cannot be run.
    return statSync(path).isDirectory() ? 'nothing' : 'file'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? 'hidden' : 'nothing'
  }
}
