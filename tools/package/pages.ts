/**
 * What people read: all that the npm package has beside the program. Pages lead to other pages, to manifests and examples, and
 * messages name pages; so all of it comes along, in the same places.
 */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from './places.ts'

/** Relative to the root, sorted. */
export async function readableFiles(): Promise<readonly string[]> {
  const { files } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { files: readonly string[] }
  const found = await Promise.all(files.filter((pattern) => !program.has(pattern)).map(filesOf))
  return [...alwaysPacked, ...found.flat()].toSorted()
}

const program: ReadonlySet<string> = new Set(['bin', 'dist', 'native'])
/** Whatever the list says. */
const alwaysPacked = ['LICENSE', 'README.md']

/** A pattern names a file or a folder; `*` is any name. */
async function filesOf(pattern: string): Promise<readonly string[]> {
  const [top = ''] = pattern.split('/')
  if (!(await stat(join(root, top))).isDirectory()) return [top]
  const wanted = new RegExp(`^${pattern.replaceAll('.', String.raw`\.`).replaceAll('*', '[^/]*')}(/|$)`)
  const entries = await readdir(join(root, top), { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
    .filter((path) => wanted.test(path))
}
