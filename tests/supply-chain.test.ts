/** What Fairlead consists of is told completely: the SBOM, and the NOTICE with everybody's licence. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { packagesInConsole } from '../tools/bundle-console.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const read = (name: string) => readFile(`${root}${name}`, 'utf8')

interface Manifest {
  readonly version: string
  readonly files: readonly string[]
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

interface Locked {
  readonly version: string
  readonly license?: string
  readonly dev?: boolean
  readonly devOptional?: boolean
}

let manifest: Manifest
let lockedByName: ReadonlyMap<string, Locked>

beforeAll(async () => {
  manifest = JSON.parse(await read('package.json')) as Manifest
  const { packages } = JSON.parse(await read('package-lock.json')) as { packages: Readonly<Record<string, Locked>> }
  const inConsole = new Set((await packagesInConsole()).map((name) => `node_modules/${name}`))
  const needed = Object.entries(packages).filter(
    ([path, { dev, devOptional }]) => inConsole.has(path) || (path !== '' && dev !== true && devOptional !== true),
  )
  lockedByName = new Map(needed.map(([path, locked]) => [path.replace(/^.*node_modules\//, ''), locked]))
})

describe('npm run sbom', () => {
  let sbom: {
    readonly bomFormat: string
    readonly metadata: { readonly component: { readonly name: string; readonly version: string } }
    readonly components: readonly { readonly name: string; readonly version: string }[]
    readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
  }
  beforeAll(async () => {
    const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'sbom'], { cwd: root, maxBuffer: 64 << 20 })
    sbom = JSON.parse(stdout) as typeof sbom
  }, 60_000)

  test('names Fairlead itself, in CycloneDX', () => {
    const { bomFormat, metadata } = sbom
    expect(bomFormat).toBe('CycloneDX')
    expect(metadata.component).toMatchObject({ name: 'fairlead', version: manifest.version })
  })

  test('lists every package that runs, with its version, and none that only development needs', () => {
    const listed = new Map(sbom.components.map(({ name, version }) => [name, version]))
    for (const [name, version] of Object.entries(manifest.dependencies)) expect(listed.get(name)).toBe(version)
    expect([...listed.keys()].toSorted()).toEqual([...lockedByName.keys()].toSorted())
    expect([...listed.keys()]).not.toContain('vitest')
    expect([...listed.keys()]).toContain('preact')
  })

  test('says who needs whom, from Fairlead on', () => {
    const needs = sbom.dependencies.find(({ ref }) => ref === `fairlead@${manifest.version}`)?.dependsOn
    const direct = Object.entries(manifest.dependencies).map(([name, version]) => `${name}@${version}`)
    expect(needs).toEqual(expect.arrayContaining(direct))
  })
})

test('NOTICE names each package that runs with its licence, and no other', async () => {
  const listed = [...(await read('NOTICE')).matchAll(/^ {2}(\S+) +(\S.*)$/gm)].map(([, name, licence]) => [
    name,
    licence,
  ])
  const expected = [...lockedByName].map(([name, { license }]) => [
    // One binary for each platform.
    name.replace(/^@koromix\/koffi-.*/, '@koromix/koffi-*'),
    license,
  ])
  expect(new Set(listed.map(String))).toEqual(new Set(expected.map(String)))
})

test('the package has what it must be passed on with', () => {
  expect(manifest.files).toEqual(expect.arrayContaining(['NOTICE', 'SECURITY.md', 'CHANGELOG.md', 'docs']))
})

test('no package runs a script when it is installed', async () => {
  expect(await read('.npmrc')).toMatch(/^ignore-scripts=true$/m)
})
