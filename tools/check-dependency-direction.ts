/** Keeps imports pointing one way: a folder may import only the folders listed for it (and itself). */
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const source = resolve(dirname(fileURLToPath(import.meta.url)), '../src')

const mayImport: Readonly<Record<string, readonly string[]>> = {
  net: [],
  api: ['net'],
  core: ['api', 'net'],
  config: ['net'],
  host: [],
  dataplane: ['core', 'api', 'net', 'host'],
  http: ['core', 'net'],
  observe: ['core', 'api', 'net', 'http'],
  kpng: ['core', 'api', 'net', 'http'],
  sources: ['core', 'api', 'net', 'kpng', 'host'],
  backends: ['core', 'api', 'net', 'dataplane'],
  embedded: ['core', 'api', 'net', 'http'],
  cli: [
    'net',
    'api',
    'core',
    'config',
    'host',
    'dataplane',
    'http',
    'observe',
    'kpng',
    'sources',
    'backends',
    'embedded',
  ],
}
/**
 * Subfolders of these folders may not import each other, so that a backend or the interface to a tool can be understood,
 * and removed, alone. The subfolders and files listed are shared. A shared one may import those listed before it.
 */
const sharedByFolder: Readonly<Record<string, readonly string[]>> = {
  backends: [],
  dataplane: ['capabilities.ts', 'control-characters.ts', 'exec', 'libc', 'netlink', 'next-turn.ts', 'nf-tables'],
}
/** Packages that only these files may import. A wrong declaration of a C function crashes the process. */
const onlyImporters: Readonly<Record<string, readonly string[]>> = {
  koffi: [
    join('dataplane', 'libc', 'libc.ts'),
    join('dataplane', 'hcn', 'native-functions.ts'),
    join('dataplane', 'windows-service', 'native-service-manager.ts'),
  ],
}
/** Folders without Node's API, so that they run anywhere and have no side effects. */
const pure = new Set(['net', 'api', 'core'])

const problems: string[] = []
let checked = 0
for (const entry of readdirSync(source, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !entry.name.endsWith('.ts')) continue
  const file = join(entry.parentPath, entry.name)
  const [folder = '', room] = relative(source, file).split(sep)
  const isTest = /\.(test|contract)\.ts$/.test(file) || file.includes(`${sep}testing${sep}`)
  const allowed = mayImport[folder]
  if (allowed === undefined && folder !== 'index.ts')
    problems.push(`${file}: folder "${folder}" has no rule in mayImport`)
  checked++
  for (const [, specifier = ''] of readFileSync(file, 'utf8').matchAll(/(?:from|import\(?)\s*'([^']+)'/g)) {
    if (isTest || folder === 'index.ts') continue
    if (pure.has(folder) && !specifier.startsWith('.'))
      problems.push(`${relative(source, file)} imports "${specifier}", but ${folder}/ is pure`)
    const importers = onlyImporters[specifier]
    if (importers?.includes(relative(source, file)) === false)
      problems.push(`${relative(source, file)} imports "${specifier}", which only ${importers.join(', ')} may do`)
    if (!specifier.startsWith('.')) continue
    const [target = '', targetRoom] = relative(source, resolve(dirname(file), specifier)).split(sep)
    if (target === folder && targetRoom !== room && !mayKnow(sharedByFolder[folder], room, targetRoom))
      problems.push(
        `${relative(source, file)} imports ${specifier}: ${folder}/${room} may not know ${folder}/${targetRoom}`,
      )
    if (target !== folder && !(allowed ?? []).includes(target))
      problems.push(
        `${relative(source, file)} imports ${specifier}: ${folder}/ may import only ${(allowed ?? []).join(', ') || 'itself'}`,
      )
  }
}
if (checked === 0) problems.push('no source file found: the check looked in the wrong place')
if (problems.length > 0) {
  process.stderr.write(problems.join('\n') + '\n')
  process.exitCode = 1
} else process.stdout.write(`${checked} files import in the right direction\n`)

function mayKnow(shared: readonly string[] | undefined, room = '', target = ''): boolean {
  if (shared === undefined) return true
  const known = shared.includes(room) ? shared.slice(0, shared.indexOf(room)) : shared
  return known.includes(target)
}
