/** Links between pages lead somewhere: in the repository, and in the packages for the pages that are in them. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { readableFiles } from '../tools/package/pages.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

interface Link {
  readonly page: string
  /** Relative to the root; empty parts are gone. */
  readonly path: string
  readonly anchor: string
}

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...['deploy', 'docs', 'examples', 'src/backends', 'tests'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(folder, name)),
  ),
]
const links = pages.flatMap(linksOf)

test('every link leads to a file or folder of the repository', () => {
  expect(links.length).toBeGreaterThan(20)
  expect(links.filter(({ path }) => !existsSync(join(root, path))).map(shown)).toEqual([])
})

test('every link to a place in a page names a heading that is there', () => {
  const anchored = links.filter(({ path, anchor }) => anchor !== '' && path.endsWith('.md'))
  expect(anchored.filter(({ path, anchor }) => !anchorsOf(path).includes(anchor)).map(shown)).toEqual([])
})

test('every page can be reached from the README or CONTRIBUTING', () => {
  const reached = new Set(['README.md', 'CONTRIBUTING.md'])
  for (const page of reached)
    for (const { path } of links.filter((link) => link.page === page))
      for (const target of pages.filter((candidate) => candidate === path || isPageOf(path, candidate)))
        reached.add(target)
  expect(pages.filter((page) => !reached.has(page))).toEqual([])
})

test('links of the pages in the npm package stay within it, and packages for machines have the same', async () => {
  const packed = packedFiles()
  expect(packed).toContain('README.md')
  const isPacked = (path: string) => packed.some((file) => file === path || file.startsWith(`${path}/`))
  const shipped = links.filter(({ page }) => packed.includes(page))
  expect(shipped.filter(({ path }) => !isPacked(path)).map(shown)).toEqual([])
  const beside = packed.filter((path) => !/^(?:bin|dist|native|package\.json)\b/.test(path))
  expect(await readableFiles()).toEqual(beside.toSorted())
}, 120_000)

/** A link to a folder leads to the pages in it. */
function isPageOf(path: string, page: string): boolean {
  return statSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() === true && page.startsWith(`${path}/`)
}

/** Relative ones; code is no text, so what looks like a link there is none. */
function linksOf(page: string): readonly Link[] {
  const text = withoutCode(readFileSync(join(root, page), 'utf8'))
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
    if (/^[a-z]+:/.test(target)) return []
    const [path = '', anchor = ''] = target.split('#')
    const found = path === '' ? page : normalize(join(dirname(page), path)).replace(/\/$/, '')
    return [{ page, path: found, anchor }]
  })
}

/** As GitHub makes them of headings. */
function anchorsOf(page: string): readonly string[] {
  const text = readFileSync(join(root, page), 'utf8').replaceAll(/^```.*?^```/gms, '')
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function withoutCode(text: string): string {
  return text.replaceAll(/^```.*?^```/gms, '').replaceAll(/`[^`\n]*`/g, '')
}

/** What `npm publish` would put into the package. */
function packedFiles(): readonly string[] {
  const { stdout } = spawnSync('npm', ['pack', '--dry-run', '--json'], { cwd: root, encoding: 'utf8' })
  // Older versions of npm print a list, newer ones an object by name.
  const [pack] = Object.values(JSON.parse(stdout) as Record<string, { files: { path: string }[] }>)
  return pack?.files.map(({ path }) => path) ?? []
}

function shown({ page, path, anchor }: Link): string {
  return `${page} -> ${path}${anchor === '' ? '' : `#${anchor}`}`
}
