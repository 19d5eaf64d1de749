/**
 * Adds to package-lock.json the platform packages that a registry did not have when the lock file was written. A
 * package names one optional dependency for each platform; npm 11 refuses to install (`npm ci`) while a single one of
 * them is missing from the lock file, even if it is for another platform. Run it after every `npm install`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

interface LockedPackage {
  readonly version?: string
  readonly dev?: boolean
  readonly optional?: boolean
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
  readonly libc?: readonly string[]
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const path = fileURLToPath(new URL('../package-lock.json', import.meta.url))
const lock = JSON.parse(readFileSync(path, 'utf8')) as { packages: Record<string, LockedPackage> }
const added: string[] = []
for (const [parent, { dev, optionalDependencies = {} }] of Object.entries(lock.packages))
  for (const [name, version] of Object.entries(optionalDependencies)) {
    const place = `node_modules/${name}`
    if (lock.packages[place] !== undefined || lock.packages[`${parent}/${place}`] !== undefined) continue
    lock.packages[place] = { version, ...(dev === true && { dev }), optional: true, ...platformOf(name) }
    added.push(name)
  }
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([left], [right]) => (left < right ? -1 : 1)))
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`)
process.stdout.write(`${added.length} platform packages added to the lock file\n`)

/** These packages have their platform in their names: `@scope/binding-linux-x64-musl`. */
function platformOf(name: string): Pick<LockedPackage, 'os' | 'cpu' | 'libc'> {
  const systems = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32']
  const words = name.split(/[-/]/)
  const os = words.find((word) => systems.includes(word))
  if (os === undefined) return { cpu: ['wasm32'] }
  const cpu = words[words.indexOf(os) + 1] ?? ''
  const libc = words.some((word) => word.startsWith('musl')) ? 'musl' : os === 'linux' ? 'glibc' : undefined
  return { os: [os], cpu: [cpu], ...(libc !== undefined && { libc: [libc] }) }
}
