import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, readdir, rename, rm } from 'node:fs/promises'
import { arch, platform } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A program that is built from a published Go module. */
interface GoProgram {
  /** The folder below programs/ whose go.mod names the versions. */
  readonly module: string
  /** Built as it is; or ".", a main of a few lines beside the go.mod. */
  readonly package: string
  readonly flags?: readonly string[]
  /** Into an image: it must not need a C library. */
  readonly isStatic?: boolean
  /** The tests of the package, as a program. */
  readonly isTest?: boolean
}

/** File systems that need C headers, and that no test uses. */
const withoutFileSystems = ['-tags', 'no_btrfs,no_devmapper,no_zfs']

const goPrograms = {
  kubelet: { module: 'kubernetes', package: 'k8s.io/kubernetes/cmd/kubelet' },
  'kube-controller-manager': { module: 'kubernetes', package: 'k8s.io/kubernetes/cmd/kube-controller-manager' },
  'kube-scheduler': { module: 'kubernetes', package: 'k8s.io/kubernetes/cmd/kube-scheduler' },
  'e2e.test': { module: 'kubernetes', package: 'k8s.io/kubernetes/test/e2e', isTest: true },
  ginkgo: { module: 'kubernetes', package: 'github.com/onsi/ginkgo/v2/ginkgo' },
  agnhost: { module: 'kubernetes', package: 'k8s.io/kubernetes/test/images/agnhost' },
  'regression-issue-74839': {
    module: 'kubernetes',
    package: 'k8s.io/kubernetes/test/images/regression-issue-74839',
  },
  containerd: {
    module: 'containerd',
    package: 'github.com/containerd/containerd/v2/cmd/containerd',
    flags: withoutFileSystems,
    isStatic: true,
  },
  'containerd-shim-runc-v2': {
    module: 'containerd',
    package: 'github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2',
    flags: withoutFileSystems,
    isStatic: true,
  },
  ctr: {
    module: 'containerd',
    package: 'github.com/containerd/containerd/v2/cmd/ctr',
    flags: withoutFileSystems,
    isStatic: true,
  },
  coredns: { module: 'coredns', package: '.', isStatic: true },
} satisfies Readonly<Record<string, GoProgram>>

export type ProgramName = keyof typeof goPrograms

export const programNames = Object.keys(goPrograms) as readonly ProgramName[]

const modules = fileURLToPath(new URL('programs/', import.meta.url))
const cache = fileURLToPath(new URL('../../.cache/kubelet/programs/', import.meta.url))

/** The path of the executable, built first unless the same versions have been built before. */
export async function buildGoProgram(name: ProgramName): Promise<string> {
  const program: GoProgram = goPrograms[name]
  const args = [
    ...(program.isTest === true ? ['test', '-c'] : ['build']),
    ...(program.flags ?? []),
    '-ldflags',
    ['-s', '-w', ...(await versionStamps(program.module))].join(' '),
  ]
  const folder = join(cache, `${name}-${await hashOf(program, args)}`)
  const executable = join(folder, name)
  if (existsSync(executable)) return executable

  process.stderr.write(`e2e: building ${name}; the first time takes minutes, later runs use .cache/kubelet\n`)
  const started = Date.now()
  await mkdir(folder, { recursive: true })
  // Built beside and renamed: a build that is interrupted, or runs twice at once, leaves no half-written executable.
  const unfinished = `${executable}.${process.pid}`
  try {
    await go([...args, '-o', unfinished, program.package], program)
    await rename(unfinished, executable)
  } finally {
    await rm(unfinished, { force: true })
  }
  process.stderr.write(`e2e: built ${name} in ${Math.round((Date.now() - started) / 1000)} s\n`)
  await removeOlder(name, folder)
  return executable
}

/** Without a version stamped in, the programs of Kubernetes call themselves v0.0.0-master. */
async function versionStamps(module: string): Promise<readonly string[]> {
  const goMod = await readFile(join(modules, module, 'go.mod'), 'utf8')
  const version = /^\s*k8s\.io\/kubernetes (v(\d+)\.(\d+)\.\d+)/m.exec(goMod)
  if (version === null) return []
  const stamp = { gitVersion: version[1], gitMajor: version[2], gitMinor: version[3] }
  return Object.entries(stamp).map(([field, value]) => `-X k8s.io/component-base/version.${field}=${value}`)
}

async function hashOf(program: GoProgram, args: readonly string[]): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([platform(), arch(), program, args]))
  // Not go.sum, and of go.mod only the versions: another tool in it changes no program.
  const goMod = await readFile(join(modules, program.module, 'go.mod'), 'utf8')
  hash.update(goMod.replace(/^tool \([^)]*\)/m, ''))
  if (program.package === '.') hash.update(await readFile(join(modules, program.module, 'main.go')))
  return hash.digest('hex').slice(0, 12)
}

async function go(args: readonly string[], program: GoProgram): Promise<void> {
  // Where the official archive puts Go; a login shell finds it there, but not every test runner's PATH does.
  const env = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/local/go/bin` }
  const child = spawn('go', args, {
    cwd: join(modules, program.module),
    env: program.isStatic === true ? { ...env, CGO_ENABLED: '0' } : env,
    stdio: ['ignore', 2, 2],
  })
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.once('error', (cause) =>
      reject(new Error('Go is needed to build the cluster, and "go" was not found: install Go 1.26', { cause })),
    )
    child.once('close', resolve)
  })
  if (exitCode !== 0) throw new Error(`"go ${args.join(' ')}" failed in ${program.module}: its output is above`)
}

async function removeOlder(name: ProgramName, newest: string): Promise<void> {
  for (const entry of await readdir(cache))
    if (/^(.+)-[0-9a-f]{12}$/.exec(entry)?.[1] === name && entry !== basename(newest))
      await rm(join(cache, entry), { recursive: true, force: true })
}
