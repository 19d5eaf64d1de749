/**
 * Where a program is that could not be started. The system answers "permission denied" for a program that is nowhere as
 * soon as PATH holds one folder that this user may not read (as after `su`), so its answer alone names the wrong reason.
 */
import { statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

export type Whereabouts =
  | { readonly kind: 'found'; readonly file: string }
  | {
      readonly kind: 'missing'
      /** Folders of PATH that this user may not look into. */ readonly hidden: readonly string[]
    }

/** What is at a path; `hidden` when this user may not even know. */
export type Look = (path: string) => 'file' | 'nothing' | 'hidden'

/** A program that is given with a folder is looked for there only, as the system does. */
export function findProgram(program: string, path: string | undefined, look: Look = lookAt): Whereabouts {
  if (program.includes('/')) return look(program) === 'nothing' ? nowhere : { kind: 'found', file: program }
  const hidden: string[] = []
  for (const folder of (path ?? '').split(delimiter)) {
    const file = join(folder, program)
    const seen = look(file)
    if (seen === 'file') return { kind: 'found', file }
    if (seen === 'hidden' && !hidden.includes(folder)) hidden.push(folder)
  }
  return { kind: 'missing', hidden }
}

/** For the end of a sentence that says where a program was looked for: empty when all of PATH could be seen. */
export function hiddenNote({ hidden }: Extract<Whereabouts, { kind: 'missing' }>): string {
  return hidden.length === 0 ? '' : ` (this user may not look into ${hidden.join(', ')})`
}

const nowhere: Whereabouts = { kind: 'missing', hidden: [] }

function lookAt(path: string): ReturnType<Look> {
  try {
    // A folder of that name is no program.
    return statSync(path).isDirectory() ? 'nothing' : 'file'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? 'hidden' : 'nothing'
  }
}
