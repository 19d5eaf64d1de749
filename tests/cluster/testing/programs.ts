import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, readdir, rename, rm } from 'node:fs/promises'
import { arch, platform } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The programs of tests/cluster/programs: the real ones, each behind a main of a few lines. */
export const programs = [
  'etcd',
  'kube-apiserver',
  'kube-proxy',
  'endpointslice-mirroring',
  'jaeger',
  'helm',
  'runsc',
] as const

export type Program = (typeof programs)[number]

export function isProgram(name: string): name is Program {
  return programs.some((program) => program === name)
}

/** Those that are a module of their own, because they need other versions of the same packages, and are built as they are. */
const ownModules: Readonly<Partial<Record<Program, string>>> = {
  jaeger: 'github.com/jaegertracing/jaeger/cmd/all-in-one',
  helm: 'helm.sh/helm/v4/cmd/helm',
  runsc: 'gvisor.dev/gvisor/runsc',
}

const sources = fileURLToPath(new URL('../programs/', import.meta.url))
const cache = fileURLToPath(new URL('../../../.cache/cluster/', import.meta.url))

/** Where it is, or will be once these sources are built. */
export async function programPath(name: Program): Promise<string> {
  const folder = join(cache, `${name}-${await sourcesHash(name, await buildFlags(name))}`)
  // The file has the program's own name: the real programs sign what they write with it.
  return join(folder, name)
}

async function buildFlags(name: Program): Promise<readonly string[]> {
  return ['-ldflags', name in ownModules ? '-s -w' : await linkerFlags()]
}

/** The path of the executable, built first unless the same sources have been built before. */
export async function buildProgram(name: Program): Promise<string> {
  const executable = await programPath(name)
  if (existsSync(executable)) return executable
  const folder = dirname(executable)
  const ownModule = ownModules[name]
  const flags = await buildFlags(name)

  process.stderr.write(`cluster: building ${name}; the first time takes minutes, later runs use .cache/cluster\n`)
  const started = Date.now()
  await mkdir(folder, { recursive: true })
  // Built beside and renamed: a build that is interrupted, or runs twice at once, leaves no half-written executable.
  const unfinished = `${executable}.${process.pid}`
  try {
    const [where, what] = ownModule === undefined ? [sources, `./${name}`] : [join(sources, name), ownModule]
    // runsc starts itself anew where there are no libraries.
    await go(['build', ...flags, '-o', unfinished, what], where, name === 'runsc' ? { CGO_ENABLED: '0' } : {})
    await rename(unfinished, executable)
  } finally {
    await rm(unfinished, { force: true })
  }
  process.stderr.write(`cluster: built ${name} in ${Math.round((Date.now() - started) / 1000)} s\n`)
  await removeOlder(name, folder)
  return executable
}

/** Without a version stamped in, the programs call themselves v0.0.0-master. */
async function linkerFlags(): Promise<string> {
  const version = /^\s*k8s\.io\/kubernetes (v(\d+)\.(\d+)\.\d+)$/m.exec(await readFile(join(sources, 'go.mod'), 'utf8'))
  if (version === null) throw new Error('tests/cluster/programs/go.mod does not name a release of k8s.io/kubernetes')
  const stamp = { gitVersion: version[1], gitMajor: version[2], gitMinor: version[3] }
  const stamps = Object.entries(stamp).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`)
  return ['-s', '-w', ...stamps].join(' ')
}

async function sourcesHash(name: Program, flags: readonly string[]): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([platform(), arch(), flags]))
  const files = name in ownModules ? [`${name}/go.mod`, `${name}/go.sum`] : ['go.mod', 'go.sum', `${name}/main.go`]
  for (const file of files) hash.update(await readFile(join(sources, file)))
  return hash.digest('hex').slice(0, 12)
}

async function go(args: readonly string[], folder: string, more: Readonly<Record<string, string>>): Promise<void> {
  // Where the official archive puts Go; a login shell finds it there, but not every test runner's PATH does.
  const path = `${process.env['PATH'] ?? ''}:/usr/local/go/bin`
  const child = spawn('go', args, {
    cwd: folder,
    env: { ...process.env, PATH: path, ...more },
    stdio: ['ignore', 2, 2],
  })
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.once('error', (cause) =>
      reject(new Error('Go is needed to build the real programs, and "go" was not found: install Go 1.26', { cause })),
    )
    child.once('close', resolve)
  })
  if (exitCode !== 0) throw new Error(`"go ${args.join(' ')}" failed in ${folder}: its output is above`)
}

/** An API server has more than 100 MB, so only the newest build of a program is kept. */
async function removeOlder(name: Program, newest: string): Promise<void> {
  const builds = (await readdir(cache)).filter((entry) => /^(.+)-[0-9a-f]{12}$/.exec(entry)?.[1] === name)
  for (const build of builds.map((entry) => join(cache, entry))) {
    if (build !== newest) await rm(build, { recursive: true, force: true })
  }
}
